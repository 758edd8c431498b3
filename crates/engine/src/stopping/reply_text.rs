//! The text of a reply as its tokens arrive.

use tilewright_model::{Refusal, TextStream, Tokenizer};

use super::StopStrings;
use crate::Request;

/// Turns ids into text that is certain: whole characters, no part of a stop string. Silent without a tokenizer.
pub(crate) struct ReplyText {
    stream: Option<TextStream>,
    stops: StopStrings,
}

/// Text that is certain now, and the stop string that ended the reply.
pub(crate) type Certain = (String, Option<String>);

impl ReplyText {
    pub(crate) fn new(tokenizer: Option<&Tokenizer>, request: &Request, stops: &[String]) -> Self {
        let begin = if request.continuation { TextStream::continuing } else { TextStream::new };
        Self {
            stream: tokenizer.map(|tokenizer| begin(tokenizer, !request.show_special)),
            stops: StopStrings::new(stops.to_vec()),
        }
    }

    /// Adds a token, whose text is looked through for stop strings if `searched`; if not, nothing is held back.
    pub(crate) fn push(&mut self, id: u32, searched: bool) -> Result<Certain, Refusal> {
        let Some(stream) = &mut self.stream else { return Ok(Certain::default()) };
        let piece = stream.push(id)?;
        Ok(if searched { self.stops.push(&piece) } else { (self.stops.finish() + &piece, None) })
    }

    /// Ends the text. An incomplete character becomes U+FFFD; text held back was no part of a stop string.
    pub(crate) fn finish(&mut self) -> Certain {
        let tail = self.stream.take().map(TextStream::finish).unwrap_or_default();
        match self.stops.push(&tail) {
            (text, None) => (text + &self.stops.finish(), None),
            found => found,
        }
    }
}

#[cfg(test)]
mod tests;
