//! What a generation tells its caller.

use std::time::Duration;

/// One thing that happened. [`Event::Done`] is the last, and comes exactly once unless a refusal ends the
/// generation instead.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A chunk of the prompt was taken in.
    Prefill {
        /// Prompt tokens in the cache, reused ones included.
        done: usize,
        /// Prompt tokens.
        total: usize,
    },
    /// A token was generated. An end token is one too: it is counted, and adds no text.
    Token(Token),
    /// Text that is certain: whole characters, and no part of a stop string. Never empty. The pieces joined are
    /// the decoded reply. Absent without a tokenizer.
    Text(String),
    /// The end.
    Done(Done),
}

/// A generated token.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    /// Its id.
    pub id: u32,
    /// Its log-probability and those of alternatives, if the request asked.
    pub logprobs: Option<Logprobs>,
}

/// Natural logarithms of softmax over the model's raw logits: before penalties, bias, temperature and filters, so
/// that they say what the model thought and not how it was sampled.
#[derive(Clone, Debug, PartialEq)]
pub struct Logprobs {
    /// Of the token chosen.
    pub chosen: f64,
    /// The most likely tokens, most likely first, ties by lowest id. The chosen one is among them only if it is
    /// that likely.
    pub top: Vec<Alternative>,
}

/// A token that could have been chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alternative {
    /// Its id.
    pub id: u32,
    /// Its log-probability.
    pub logprob: f64,
}

/// How a generation ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// Why.
    pub reason: FinishReason,
    /// Tokens counted.
    pub usage: Usage,
    /// Time spent.
    pub timings: Timings,
}

/// Why a generation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model, or the caller's rule, ended the reply.
    Stop(Stop),
    /// The reply reached `max_tokens`, or without one the end of the context.
    Length,
    /// The caller cancelled.
    Cancelled,
}

impl FinishReason {
    /// The word of the common HTTP API: `stop`, `length` or `cancelled`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stop(_) => "stop",
            Self::Length => "length",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What stopped a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// This id: one of the checkpoint's stop set or of the request.
    Id(u32),
    /// This stop string.
    Text(String),
}

/// Tokens counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// How many of them were in the cache already.
    pub cached_tokens: usize,
    /// Tokens generated, an end token included.
    pub completion_tokens: usize,
}

impl Usage {
    /// Prompt and reply together.
    pub fn total_tokens(&self) -> usize {
        self.prompt_tokens + self.completion_tokens
    }
}

/// Time spent, on a monotonic clock. Sampling counts as decoding; loading the model does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// Taking in the prompt.
    pub prefill: Duration,
    /// Prompt tokens taken in (those not cached).
    pub prefilled: usize,
    /// Decode steps and sampling.
    pub decode: Duration,
    /// Decode steps. The first token needs none: its logits come from the prompt.
    pub decoded: usize,
    /// From the first call of `next` to the first token; zero if there was none.
    pub first_token: Duration,
}

impl Timings {
    /// Prompt tokens a second; `None` when nothing was prefilled.
    pub fn prefill_rate(&self) -> Option<f64> {
        rate(self.prefilled, self.prefill)
    }

    /// Decode steps a second; `None` when there was none.
    pub fn decode_rate(&self) -> Option<f64> {
        rate(self.decoded, self.decode)
    }
}

fn rate(count: usize, time: Duration) -> Option<f64> {
    (count > 0 && !time.is_zero()).then(|| count as f64 / time.as_secs_f64())
}
