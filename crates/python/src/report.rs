//! What a reply says, as dicts.

use pyo3::prelude::*;
use tilewright_engine::{Done, Logprobs, ReasoningSplitter, Stop};
use tilewright_engine::{Event, FinishReason};

/// What one step of a reply gave, or all of it.
#[derive(Default, IntoPyObject)]
pub(crate) struct Report {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) token_ids: Vec<u32>,
    /// The chosen token's, and the most likely ones.
    pub(crate) logprobs: Vec<(f64, Vec<(u32, f64)>)>,
    pub(crate) end: Option<End>,
}

/// How a reply ended.
#[derive(IntoPyObject)]
pub(crate) struct End {
    finish_reason: &'static str,
    stop_reason: Option<StopReason>,
    prompt_tokens: usize,
    cached_tokens: usize,
    completion_tokens: usize,
    prefill_seconds: f64,
    prefilled_tokens: usize,
    decode_seconds: f64,
    decoded_tokens: usize,
    first_token_seconds: f64,
}

/// What ended it.
#[derive(IntoPyObject)]
enum StopReason {
    Id(u32),
    Text(String),
}

impl Report {
    /// Whether there is something to show.
    pub(crate) fn says(&self) -> bool {
        !(self.text.is_empty()
            && self.reasoning.is_empty()
            && self.token_ids.is_empty()
            && self.end.is_none())
    }

    /// Takes an event.
    pub(crate) fn add(&mut self, event: Event, splitter: &mut ReasoningSplitter) {
        match event {
            Event::Prefill { .. } => {}
            Event::Token(token) => {
                self.token_ids.push(token.id);
                self.logprobs.extend(token.logprobs.map(logprobs));
            }
            Event::Text(piece) => self.say(splitter.push(&piece)),
            Event::Done(done) => {
                self.say(splitter.finish());
                self.end = Some(End::of(done));
            }
        }
    }

    fn say(&mut self, parts: tilewright_engine::Parts) {
        self.text.push_str(&parts.answer);
        self.reasoning.push_str(&parts.reasoning);
    }
}

fn logprobs(found: Logprobs) -> (f64, Vec<(u32, f64)>) {
    (found.chosen, found.top.into_iter().map(|other| (other.id, other.logprob)).collect())
}

impl End {
    fn of(done: Done) -> Self {
        let (usage, timings) = (done.usage, done.timings);
        Self {
            finish_reason: done.reason.name(),
            stop_reason: match done.reason {
                FinishReason::Stop(Stop::Id(id)) => Some(StopReason::Id(id)),
                FinishReason::Stop(Stop::Text(text)) => Some(StopReason::Text(text)),
                FinishReason::Length | FinishReason::Cancelled => None,
            },
            prompt_tokens: usage.prompt_tokens,
            cached_tokens: usage.cached_tokens,
            completion_tokens: usage.completion_tokens,
            prefill_seconds: timings.prefill.as_secs_f64(),
            prefilled_tokens: timings.prefilled,
            decode_seconds: timings.decode.as_secs_f64(),
            decoded_tokens: timings.decoded,
            first_token_seconds: timings.first_token.as_secs_f64(),
        }
    }
}
