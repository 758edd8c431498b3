//! One reply as the scheduler sees it: waiting, then running.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tilewright_model::Refusal;

use crate::Event;
use crate::draft::Draft;
use crate::lease::Lease;

/// Where events go; `false` says that nobody listens.
pub(super) type Sink = Box<dyn FnMut(Result<Event, Refusal>) -> bool + Send>;

/// A place among those that run and wait, given back when dropped.
pub(super) struct Seat(Arc<AtomicUsize>);

impl Seat {
    /// For a place that `taken` counts already.
    pub(super) fn new(taken: &Arc<AtomicUsize>) -> Self {
        Self(Arc::clone(taken))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A reply, whether or not it has memory.
pub(super) struct Job {
    pub(super) draft: Draft,
    /// The prompt and the reply so far.
    pub(super) ids: Vec<u32>,
    /// When it came, by number.
    pub(super) order: u64,
    /// Whether it ran before and gave its memory back.
    pub(super) again: bool,
    sink: Sink,
    /// Given back before the end is told, so that who hears of it finds the place free.
    seat: Option<Seat>,
}

impl Job {
    pub(super) fn new(draft: Draft, sink: Sink, seat: Seat) -> Self {
        let ids = draft.request().prompt.clone();
        Self { draft, ids, order: 0, again: false, sink, seat: Some(seat) }
    }

    /// Positions its sequence may come to need.
    pub(super) fn room(&self) -> usize {
        self.draft.request().prompt.len() + self.draft.max_tokens()
    }

    /// Picks the token after all ids from their logits; whether there is one.
    pub(super) fn choose(&mut self, logits: &[f32]) -> bool {
        let chosen = self.draft.choose(logits);
        let good = chosen.is_ok();
        match chosen {
            Ok(()) => self.ids.extend(self.draft.latest()),
            Err(refusal) => self.fail(refusal),
        }
        self.tell();
        good
    }

    /// Takes the token after all ids, which the device chose.
    fn take(&mut self, id: u32) {
        match self.draft.take(id) {
            Ok(()) => self.ids.push(id),
            Err(refusal) => self.fail(refusal),
        }
        self.tell();
    }

    /// Hands over what is ready.
    pub(super) fn tell(&mut self) {
        while let Some(event) = self.draft.pop() {
            if matches!(event, Event::Done(_)) {
                self.seat = None;
            }
            if !(self.sink)(Ok(event)) {
                self.draft.cancel().cancel();
            }
        }
    }

    /// Ends it with a refusal.
    pub(super) fn fail(&mut self, refusal: Refusal) {
        if !self.draft.ended() {
            self.draft.abandon();
            self.seat = None;
            (self.sink)(Err(refusal));
        }
    }
}

/// A reply with its sequence.
pub(super) struct Running {
    pub(super) job: Job,
    pub(super) lease: Lease,
    /// Ids the sequence holds.
    pub(super) held: usize,
    /// Positions it was made for.
    pub(super) room: usize,
}

impl Running {
    /// Ids to take in before the next token can be picked.
    pub(super) fn todo(&self) -> &[u32] {
        &self.job.ids[self.held..]
    }

    /// Takes ids that the device chose one after another, up to the reply's end. The sequence has become longer by
    /// `computed`; of that it keeps what was taken. How many were.
    pub(super) fn take(&mut self, ids: &[u32], computed: usize, time: Duration) -> usize {
        let (held, known) = (self.held, self.job.ids.len());
        self.job.draft.timings.decode += time;
        for &id in ids {
            if self.job.draft.ended() || self.job.draft.cancel().is_cancelled() {
                break;
            }
            self.held += 1;
            self.job.draft.timings.decoded += 1;
            self.job.take(id);
        }
        if self.held < held + computed {
            self.lease.truncate(self.held);
        }
        self.job.ids.len() - known
    }

    /// Whether the next thing to do is a decode step: one id is left, and `any` such will do or it is of the reply.
    pub(super) fn decodes(&self, any: bool) -> bool {
        self.todo().len() == 1 && (any || self.job.draft.latest().is_some())
    }
}
