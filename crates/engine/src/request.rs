//! What a caller asks of one generation.

mod check;

use std::sync::Arc;

use tilewright_backend::Cancel;

use crate::{Grammar, Sampling};

pub(crate) use check::{Checked, Facts};

/// Alternatives a request may ask for with its log-probabilities.
pub const MAX_ALTERNATIVES: u8 = 20;

/// One generation. [`Request::new`] asks for the checkpoint's own way of sampling and as many tokens as fit.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The prompt. At least one id, each of the tokenizer's (without a tokenizer: of the model's) vocabulary;
    /// never truncated.
    pub prompt: Vec<u32>,
    /// Tokens to generate at most, at least 1. Prompt and these must fit the context together. `None`: the rest of
    /// the context.
    pub max_tokens: Option<usize>,
    /// Tokens before which nothing stops the reply: stop ids cannot be drawn, and stop strings are looked for only
    /// in the text that follows.
    pub min_tokens: usize,
    /// How to sample.
    pub sampling: Sampling,
    /// Strings that end the reply, matched over text wherever token borders lie. Need a tokenizer. One that is the
    /// text of a special token stands for its id.
    pub stop: Vec<String>,
    /// Ids that end the reply, besides the checkpoint's.
    pub stop_ids: Vec<u32>,
    /// Do not stop at the checkpoint's own stop set and stop strings. Its ids may still be drawn.
    pub ignore_eos: bool,
    /// Keep the stop string (or the text of the stop id) at the end of the text.
    pub include_stop: bool,
    /// Show special tokens, such as the end of a turn, in the text.
    pub show_special: bool,
    /// The text goes on from the prompt's: a space at its beginning is kept. Tokenizers in the style of SentencePiece
    /// put one before the first word of a text; others know no difference.
    pub continuation: bool,
    /// Report log-probabilities, with this many alternatives (0 to [`MAX_ALTERNATIVES`]).
    pub logprobs: Option<u8>,
    /// Rules that the reply keeps. Where they let it end, any id that ends the reply may come. Not with `min_tokens`.
    pub grammar: Option<Arc<dyn Grammar>>,
    /// Stops the generation from any thread; takes effect within one step, in prefill too.
    pub cancel: Cancel,
}

impl Request {
    /// A request for `prompt` with every other field at its default.
    pub fn new(prompt: impl Into<Vec<u32>>) -> Self {
        Self { prompt: prompt.into(), ..Self::default() }
    }
}
