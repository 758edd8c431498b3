//! One reply of a scheduler, seen by who asked for it.

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;

use tilewright_model::{Code, Refusal};

use crate::sampling::SamplingSet;
use crate::{Cancel, Event, Reply};

/// The events of one reply, as they come: `next` waits for the next one.
///
/// After [`Event::Done`], a refusal or [`close`](Self::close) there is nothing more, however often it is asked. Dropping a
/// session closes it.
#[derive(Debug)]
pub struct Session {
    events: Option<Receiver<Result<Vec<Event>, Refusal>>>,
    /// Came with one that was given already.
    ready: VecDeque<Event>,
    cancel: Cancel,
    sampling: SamplingSet,
}

impl Session {
    pub(super) fn new(
        events: Receiver<Result<Vec<Event>, Refusal>>,
        cancel: Cancel,
        sampling: SamplingSet,
    ) -> Self {
        Self { events: Some(events), ready: VecDeque::new(), cancel, sampling }
    }

    /// The sampling settings in effect, the seed included.
    pub fn sampling(&self) -> &SamplingSet {
        &self.sampling
    }

    /// Ends the reply if it has not ended. Closing again changes nothing.
    pub fn close(&mut self) {
        if self.events.take().is_some() {
            self.cancel.cancel();
        }
    }

    /// Stops this reply from any thread: it then ends as cancelled.
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// Waits for the end and gives everything at once, as far as it was not taken before.
    ///
    /// # Errors
    /// The refusal that ended the reply; `request_invalid` when it had ended already.
    pub fn reply(mut self) -> Result<Reply, Refusal> {
        Reply::collect(&mut self)
    }
}

impl Iterator for Session {
    type Item = Result<Event, Refusal>;

    fn next(&mut self) -> Option<Self::Item> {
        // The thread never drops a sink before the end, unless it panicked.
        let lost =
            || Refusal::new(Code::DeviceFailed, "scheduler", "an end of the reply", "none: its thread ended");
        let events = self.events.as_ref()?;
        let event = loop {
            if let Some(event) = self.ready.pop_front() {
                break Ok(event);
            }
            match events.recv().unwrap_or_else(|_| Err(lost())) {
                Ok(events) => self.ready.extend(events),
                Err(refusal) => break Err(refusal),
            }
        };
        if matches!(event, Ok(Event::Done(_)) | Err(_)) {
            self.events = None;
        }
        Some(event)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.close();
    }
}
