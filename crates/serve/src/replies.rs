//! The replies to one request, as they come.

use std::sync::Arc;
use std::time::Instant;

use tilewright_engine::{Cancel, Code, Event, Refusal, Request};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::app::{App, Ready};

/// The index of a session, and what it has to say.
pub(crate) type Told = (usize, Result<Vec<Event>, Refusal>);

/// Events of several sessions, those of one call of the device together, each with the index of its own. When it is dropped,
/// so when the client went away, whatever still runs is cancelled.
pub(crate) struct Replies {
    events: UnboundedReceiver<Told>,
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
            let sink = move |events: Result<Vec<Event>, Refusal>| {
                let tokens = events.iter().flatten().filter(|event| matches!(event, Event::Token(_))).count();
                if tokens > 0 {
                    app.metrics.tokens(std::mem::take(&mut first), latest.elapsed(), tokens);
                    latest = Instant::now();
                }
                send.send((index, events)).is_ok()
            };
            let request = Request { cancel: cancel.clone(), ..request };
            ready.scheduler.open_with(request, sink)?;
        }
        Ok(replies)
    }

    /// What is said next; `None` when every session has ended. Where nobody is left to say it, a failure is the last.
    pub(crate) async fn next(&mut self) -> Option<Told> {
        if self.left == 0 {
            return None;
        }
        let told = self.events.recv().await;
        if told.is_none() {
            self.left = 0;
            let (what, ended) = ("an end of every reply", "none: the scheduler ended");
            return Some((0, Err(Refusal::new(Code::DeviceFailed, "scheduler", what, ended))));
        }
        self.note(told)
    }

    /// What has been said already and was not taken yet: there is some where the client is behind.
    pub(crate) fn now(&mut self) -> Option<Told> {
        let told = self.events.try_recv().ok();
        self.note(told)
    }

    fn note(&mut self, told: Option<Told>) -> Option<Told> {
        let over = told.as_ref().is_some_and(|(_, told)| match told {
            Ok(events) => matches!(events.last(), Some(Event::Done(_))),
            Err(_) => true,
        });
        self.left -= usize::from(over);
        told
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn replies_that_nobody_ends_end_with_a_failure_and_not_like_good_ones() {
        let (send, events) = unbounded_channel();
        let mut replies = Replies { events, cancel: Cancel::default(), left: 2 };
        send.send((1, Ok(Vec::new()))).unwrap_or_else(|e| panic!("{e}"));
        drop(send);
        assert!(matches!(replies.next().await, Some((1, Ok(_)))));
        let failure = replies.next().await.and_then(|(_, told)| told.err());
        assert_eq!(failure.map(|refusal| refusal.code()), Some(Code::DeviceFailed));
        assert!(replies.next().await.is_none());
    }
}
