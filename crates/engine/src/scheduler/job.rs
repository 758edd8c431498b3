//! One reply as the scheduler sees it: waiting, then running.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use tilewright_model::Refusal;

use super::listener::{Listener, Message, News, Seat, Sink};
use crate::draft::{Chooser, Draft};
use crate::lease::Lease;
use crate::{FinishReason, Timings};

/// A reply, whether or not it has memory.
pub(super) struct Job {
    pub(super) chooser: Chooser,
    pub(super) listener: Arc<Listener>,
    pub(super) timings: Timings,
    /// The prompt and the reply so far.
    pub(super) ids: Vec<u32>,
    /// When it came, by number.
    pub(super) order: u64,
    /// Whether it ran before and gave its memory back.
    pub(super) again: bool,
}

impl Job {
    /// `told` counts the tokens that listeners are told.
    pub(super) fn new(draft: Draft, sink: Sink, seat: Seat, told: &Arc<AtomicU64>) -> Self {
        let (chooser, telling) = draft.into_halves();
        let ids = chooser.request().prompt.clone();
        let listener = Arc::new(Listener::new(telling, chooser.cancel().clone(), sink, seat, told));
        Self { chooser, listener, timings: Timings::default(), ids, order: 0, again: false }
    }

    /// Positions its sequence may come to need.
    pub(super) fn room(&self) -> usize {
        self.chooser.request().prompt.len() + self.chooser.max_tokens()
    }

    /// Whether it needs no more steps.
    pub(super) fn ended(&self) -> bool {
        self.chooser.ended() || self.listener.is_over()
    }

    /// Picks the token after all ids from their logits, a step's if `stepped`.
    pub(super) fn choose(&mut self, logits: &[f32], stepped: bool) -> Message {
        let (began, first) = (Instant::now(), self.chooser.latest().is_none());
        match self.chooser.choose(logits) {
            Ok(token) => {
                self.ids.push(token.id);
                if !first {
                    self.timings.decode += began.elapsed();
                }
                let timings = self.timings;
                self.timings.decoded += usize::from(stepped);
                self.message(News::Tokens { tokens: vec![token], stepped, timings })
            }
            Err(refusal) => self.fail(refusal),
        }
    }

    pub(super) fn message(&self, news: News) -> Message {
        Message { listener: Arc::clone(&self.listener), news }
    }

    /// Ends it before its time.
    pub(super) fn end(&mut self, reason: FinishReason) -> Message {
        self.chooser.end();
        self.message(News::End(reason, self.timings))
    }

    /// Ends it with a refusal.
    pub(super) fn fail(&mut self, refusal: Refusal) -> Message {
        self.chooser.end();
        self.message(News::Fail(refusal))
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

    /// Takes ids that the device chose one after another. The sequence has become longer by `computed`; of that it keeps what
    /// was taken.
    pub(super) fn take(&mut self, ids: &[u32], computed: usize, time: Duration) -> Message {
        self.job.timings.decode += time;
        let timings = self.job.timings;
        let mut tokens = Vec::with_capacity(ids.len());
        for &id in ids {
            if self.job.chooser.ended() {
                break;
            }
            tokens.push(self.job.chooser.take(id));
            self.job.ids.push(id);
        }
        self.held += tokens.len();
        self.job.timings.decoded += tokens.len();
        if tokens.len() < computed {
            self.lease.truncate(self.held);
        }
        self.job.message(News::Tokens { tokens, stepped: true, timings })
    }

    /// Ids of its sequence that are its prompt's, or were told.
    pub(super) fn known(&self) -> usize {
        let told = self.job.chooser.request().prompt.len() + self.job.listener.told().saturating_sub(1);
        self.held.min(told)
    }

    /// Whether the next thing to do is a decode step: one id is left, and `any` such will do or it is of the reply.
    pub(super) fn decodes(&self, any: bool) -> bool {
        self.todo().len() == 1 && (any || self.job.chooser.latest().is_some())
    }
}
