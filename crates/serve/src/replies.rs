//! The replies to one request, as they come.

use std::sync::Arc;
use std::time::Instant;

use tilewright_engine::{Cancel, Event, Refusal, Request};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::app::{App, Ready};

/// Events of several sessions, each with the index of its own. When it is dropped, so when the client went away, whatever
/// still runs is cancelled.
pub(crate) struct Replies {
    events: UnboundedReceiver<(usize, Result<Event, Refusal>)>,
    cancel: Cancel,
    left: usize,
}

impl Replies {
    /// Opens a session for each request: all, or none.
    ///
    /// # Errors
    /// The first refusal.
    pub(crate) fn open(app: &Arc<App>, ready: &Ready, requests: Vec<Request>) -> Result<Self, Refusal> {
        let (send, events) = unbounded_channel();
        let cancel = Cancel::default();
        let replies = Self { events, cancel: cancel.clone(), left: requests.len() };
        for (index, request) in requests.into_iter().enumerate() {
            let (send, app) = (send.clone(), Arc::clone(app));
            let mut latest = Instant::now();
            let mut first = true;
            let sink = move |event: Result<Event, Refusal>| {
                if let Ok(Event::Token(_)) = &event {
                    app.metrics.token(std::mem::take(&mut first), latest.elapsed());
                    latest = Instant::now();
                }
                send.send((index, event)).is_ok()
            };
            let request = Request { cancel: cancel.clone(), ..request };
            ready.scheduler.open_with(request, sink)?;
        }
        Ok(replies)
    }

    /// The next event; `None` when every session has ended.
    pub(crate) async fn next(&mut self) -> Option<(usize, Result<Event, Refusal>)> {
        if self.left == 0 {
            return None;
        }
        let event = self.events.recv().await;
        if matches!(event, Some((_, Ok(Event::Done(_)) | Err(_)))) {
            self.left -= 1;
        }
        event
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
