//! The text of a reply as its tokens arrive.

use super::StopStrings;
use crate::Engine;

/// Turns ids into text that is certain: whole characters, no part of a stop string. Silent without a tokenizer.
pub(crate) struct ReplyText {
    stops: StopStrings,
}

impl ReplyText {
    pub(crate) fn new(engine: &Engine, stops: Vec<String>) -> Self {
        todo!()
    }
}
