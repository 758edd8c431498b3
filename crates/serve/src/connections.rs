//! Connections: taken as they come, within bounds of number and time, so that clients who send nothing hold nothing up.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};

/// Time for the head of a request, also for the first one of a connection that is idle.
const HEAD_TIME: Duration = Duration::from_secs(30);

/// Connections at once. More wait until one ends.
const MOST: usize = 1024;

/// How long to wait when the system has no room for another connection.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stopped`; then takes no more connections and waits until those that have a request are done with it.
///
/// # Errors
/// When the listener fails for good.
pub(crate) async fn serve(
    listener: TcpListener,
    routes: Router,
    mut stopped: oneshot::Receiver<()>,
) -> io::Result<()> {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(MOST));
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await.map_err(io::Error::other)?;
            Ok::<_, io::Error>((listener.accept().await, place))
        };
        let (accepted, place) = tokio::select! {
            accepted = accepted => accepted?,
            _ = &mut stopped => break,
        };
        // A client that left at once, or no room for a file: the listener itself goes on.
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // A piece of a stream does not wait until the client has confirmed the one before. Where this cannot be had it is late.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(routes.clone());
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // An error is the client's: it went away, or did not speak HTTP.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    graceful.shutdown().await;
    Ok(())
}
