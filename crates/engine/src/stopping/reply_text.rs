//! The text of a reply as its tokens arrive.

use super::StopStrings;

/// Turns ids into text that is certain: whole characters, no part of a stop string. Silent without a tokenizer.
pub(crate) struct ReplyText {
    stops: StopStrings,
}

impl ReplyText {
    pub(crate) fn new(stops: Vec<String>) -> Self {
        Self { stops: StopStrings::new(stops) }
    }

    pub(crate) fn push(&mut self, _id: u32, _searched: bool) -> (String, Option<String>) {
        self.stops.push("")
    }

    pub(crate) fn finish(&mut self) -> (String, Option<String>) {
        (self.stops.finish(), None)
    }
}
