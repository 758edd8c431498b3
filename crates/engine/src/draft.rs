//! A reply as it grows, in two halves: who chooses its tokens ([`Chooser`]) and who makes text and events of them
//! ([`Telling`]).
//!
//! No device here. Whoever drives one hands over the logits after the latest token and asks what to append next. A scheduler
//! has the halves on two threads; here they are one.

mod chooser;
mod telling;

use std::time::{Duration, Instant};

use tilewright_model::Refusal;

use crate::request::Checked;
use crate::sampling::SamplingSet;
use crate::{Cancel, Engine, Event, FinishReason, Request};

pub(crate) use chooser::Chooser;
pub(crate) use telling::Telling;

/// One reply without its device.
pub(crate) struct Draft {
    chooser: Chooser,
    pub(crate) telling: Telling,
}

impl Draft {
    /// An empty reply.
    ///
    /// # Errors
    /// Why the grammar cannot be begun.
    pub(crate) fn new(engine: &Engine, checked: Checked) -> Result<Self, Refusal> {
        let telling = Telling::new(engine, &checked);
        Ok(Self { chooser: Chooser::new(engine, checked)?, telling })
    }

    /// Who chooses, and who tells.
    pub(crate) fn into_halves(self) -> (Chooser, Telling) {
        (self.chooser, self.telling)
    }

    /// What was asked.
    pub(crate) fn request(&self) -> &Request {
        self.chooser.request()
    }

    /// Stops the reply.
    pub(crate) fn cancel(&self) -> &Cancel {
        self.chooser.cancel()
    }

    /// The sampling settings in effect.
    pub(crate) fn sampling(&self) -> &SamplingSet {
        self.chooser.sampling()
    }

    /// The most tokens the reply can have.
    pub(crate) fn max_tokens(&self) -> usize {
        self.chooser.max_tokens()
    }

    /// Tokens it may still get.
    pub(crate) fn left(&self) -> usize {
        self.chooser.left()
    }

    /// Ids that end it.
    pub(crate) fn stop_ids(&self) -> &[u32] {
        self.chooser.stop_ids()
    }

    /// The latest token; `None` before the first.
    pub(crate) fn latest(&self) -> Option<u32> {
        self.chooser.latest()
    }

    /// Whether it has ended.
    pub(crate) fn ended(&self) -> bool {
        self.telling.ended()
    }

    /// Counts a decode step.
    pub(crate) fn decoded(&mut self, time: Duration) {
        self.telling.timings.decode += time;
        self.telling.timings.decoded += 1;
    }

    /// Whether the next tokens are the greatest logits' ids and nothing else is asked of the logits.
    pub(crate) fn is_plain(&self) -> bool {
        self.chooser.is_plain()
    }

    /// Picks the next token from the logits after the latest, `[vocab]`.
    ///
    /// # Errors
    /// `non_finite_logits`, or why the grammar cannot go on.
    pub(crate) fn choose(&mut self, logits: &[f32]) -> Result<(), Refusal> {
        let (began, first) = (Instant::now(), self.latest().is_none());
        let token = self.chooser.choose(logits)?;
        if !first {
            self.telling.timings.decode += began.elapsed();
        }
        self.telling.accept(token)
    }

    /// Takes a token that the device picked by itself.
    ///
    /// # Errors
    /// That of the tokenizer.
    pub(crate) fn take(&mut self, id: u32) -> Result<(), Refusal> {
        let token = self.chooser.take(id);
        self.telling.accept(token)
    }

    /// Ends the reply, after the text still held back: it was no part of a stop string after all.
    pub(crate) fn end(&mut self, reason: FinishReason) {
        self.telling.end(reason);
    }

    /// The next thing to tell.
    pub(crate) fn pop(&mut self) -> Option<Event> {
        self.telling.pop()
    }
}
