//! A whole reply at once.

use tilewright_model::{Code, Refusal};

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

impl Generation<'_> {
    /// Runs to the end and gives everything at once, as far as it was not taken before.
    ///
    /// # Errors
    /// The refusal that ended the generation; `request_invalid` when it had ended already.
    pub fn reply(self) -> Result<Reply, Refusal> {
        Reply::collect(self)
    }
}

impl Reply {
    /// The rest of a stream of events.
    pub(crate) fn collect(events: impl Iterator<Item = Result<Event, Refusal>>) -> Result<Self, Refusal> {
        let (mut ids, mut text, mut logprobs) = (Vec::new(), String::new(), Vec::new());
        for event in events {
            match event? {
                Event::Prefill { .. } => {}
                Event::Token(token) => {
                    ids.push(token.id);
                    logprobs.extend(token.logprobs);
                }
                Event::Text(piece) => text.push_str(&piece),
                Event::Done(done) => return Ok(Reply { ids, text, logprobs, done }),
            }
        }
        Err(Refusal::new(Code::RequestInvalid, "generation", "one that goes on", "one that has ended"))
    }
}
