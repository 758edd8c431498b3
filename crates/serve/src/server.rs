//! The server as its owner sees it: start, ready, wait.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use tilewright_engine::{Cancel, Code, Engine, Refusal};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::app::{App, ServeOptions};
use crate::connections;
use crate::hosts::Hosts;
use crate::router::router;

/// How often the owner's flag is looked at.
const GLANCE: Duration = Duration::from_millis(20);

/// Time after the last reply for clients to take its end. Who has sent only a part of a request is not waited for longer.
const LINGER: Duration = Duration::from_secs(2);

/// A server that listens. Dropping it ends it at once; [`wait`](Self::wait) lets it finish what runs.
pub struct Server {
    app: Arc<App>,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<std::io::Result<()>>,
    runtime: Runtime,
}

impl Server {
    /// Listens at `address`; port 0 takes a free one. Until there is a model everything but `/metrics` is answered with 503.
    ///
    /// # Errors
    /// `address_unavailable`.
    pub fn start(address: SocketAddr, options: ServeOptions) -> Result<Self, Refusal> {
        let unavailable =
            |error| Refusal::new(Code::AddressUnavailable, address.to_string(), "a free address", error);
        let listener = TcpListener::bind(address).map_err(unavailable)?;
        listener.set_nonblocking(true).map_err(unavailable)?;
        let address = listener.local_addr().map_err(unavailable)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("http")
            .enable_all()
            .build()
            .map_err(unavailable)?;
        let app = Arc::new(App::new(options));
        let (stop, stopped) = oneshot::channel::<()>();
        let routes = router(&app, Hosts::new(address, &app.options.hosts));
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).map_err(unavailable)?;
            Ok::<_, Refusal>(tokio::spawn(connections::serve(listener, routes, stopped)))
        })?;
        Ok(Self { app, address, stop: Some(stop), served, runtime })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers with this model from now on.
    ///
    /// # Errors
    /// Those of [`Scheduler::start`](tilewright_engine::Scheduler::start).
    pub fn ready(&self, engine: &Engine) -> Result<(), Refusal> {
        self.app.become_ready(engine)
    }

    /// Serves until `cancel` is raised or the system asks the process to end; then takes no more requests, tells how many
    /// replies run or wait, finishes those and returns.
    ///
    /// # Errors
    /// `address_unavailable` when the system takes the address away.
    pub fn wait(mut self, cancel: &Cancel, stopping: impl FnOnce(usize)) -> Result<(), Refusal> {
        let Self { app, stop, served, runtime, address } = &mut self;
        runtime.block_on(async {
            let asked = async {
                while !cancel.is_cancelled() {
                    tokio::time::sleep(GLANCE).await;
                }
            };
            tokio::select! {
                () = asked => {}
                () = terminated() => {}
            }
            app.stop();
            stopping(app.replies());
            drop(stop.take());
            let lost =
                |error| Refusal::new(Code::AddressUnavailable, address.to_string(), "one that stays", error);
            tokio::select! {
                served = served => served.map_err(std::io::Error::other).flatten().map_err(lost),
                () = idle(app) => Ok(()),
            }
        })
    }
}

/// Waits until no reply has run for [`LINGER`].
async fn idle(app: &App) {
    let mut quiet = Duration::ZERO;
    while quiet < LINGER {
        tokio::time::sleep(GLANCE).await;
        quiet = if app.replies() > 0 { Duration::ZERO } else { quiet + GLANCE };
    }
}

/// Waits for the system to ask for the end.
#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut signal) => drop(signal.recv().await),
        Err(_) => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending::<()>().await;
}
