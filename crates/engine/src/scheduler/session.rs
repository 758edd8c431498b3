//! One reply of a scheduler, seen by who asked for it.

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
    events: Option<Receiver<Result<Event, Refusal>>>,
    cancel: Cancel,
    sampling: SamplingSet,
}

impl Session {
    pub(super) fn new(
        events: Receiver<Result<Event, Refusal>>,
        cancel: Cancel,
        sampling: SamplingSet,
    ) -> Self {
        Self { events: Some(events), cancel, sampling }
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
        let event = self.events.as_ref()?.recv().unwrap_or_else(|_| Err(lost()));
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
