//! A whole reply at once.

use tilewright_model::Refusal;

use crate::{Done, Event, Generation, Logprobs};

/// What a [`Generation`] gives when it is run to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Every token generated, an end token included.
    pub ids: Vec<u32>,
    /// The text; empty without a tokenizer.
    pub text: String,
    /// One for each token, if the request asked; else empty.
    pub logprobs: Vec<Logprobs>,
    /// Why and when it ended.
    pub done: Done,
}

impl Reply {
    pub(crate) fn collect(generation: Generation<'_>) -> Result<Self, Refusal> {
        let mut reply = Self { ids: Vec::new(), text: String::new(), logprobs: Vec::new(), done: Done::default() };
        for event in generation {
            match event? {
                Event::Prefill { .. } => {}
                Event::Token(token) => {
                    reply.ids.push(token.id);
                    reply.logprobs.extend(token.logprobs);
                }
                Event::Text(text) => reply.text.push_str(&text),
                Event::Done(done) => reply.done = done,
            }
        }
        Ok(reply)
    }
}
