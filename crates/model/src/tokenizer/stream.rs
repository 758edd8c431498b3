//! Text from ids that arrive one by one.

use super::Tokenizer;
use super::vocabulary::Lead;
use crate::Refusal;

/// Turns bytes that arrive in pieces into complete characters.
///
/// What it gives, piece after piece, is what `String::from_utf8_lossy` gives for all bytes at once: each maximal
/// invalid part becomes one U+FFFD, an incomplete character at the end too.
#[derive(Clone, Debug, Default)]
pub(super) struct Utf8Tail {
    /// The beginning of a character, at most three bytes between calls.
    pending: Vec<u8>,
}

impl Utf8Tail {
    /// Adds bytes and returns the characters they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::new();
        let mut done = 0;
        while done < self.pending.len() {
            match std::str::from_utf8(&self.pending[done..]) {
                Ok(valid) => {
                    text.push_str(valid);
                    done = self.pending.len();
                }
                Err(error) => {
                    let valid = &self.pending[done..done + error.valid_up_to()];
                    text.push_str(&String::from_utf8_lossy(valid));
                    done += error.valid_up_to();
                    match error.error_len() {
                        Some(invalid) => {
                            text.push(char::REPLACEMENT_CHARACTER);
                            done += invalid;
                        }
                        None => break,
                    }
                }
            }
        }
        self.pending.drain(..done);
        text
    }

    /// Ends the bytes: an incomplete character becomes one U+FFFD.
    pub(super) fn finish(&mut self) -> String {
        let text = String::from_utf8_lossy(&self.pending).into_owned();
        self.pending.clear();
        text
    }
}

/// The text of a growing sequence of ids, in complete characters.
///
/// The pieces of [`push`](Self::push) and the rest of [`finish`](Self::finish), joined, are exactly
/// [`Tokenizer::decode`] of all ids. A step costs time in the length of its token only.
#[derive(Clone, Debug)]
pub struct TextStream {
    tokenizer: Tokenizer,
    skip_special: bool,
    lead: Lead,
    tail: Utf8Tail,
}

impl TextStream {
    /// A stream that begins a text.
    pub fn new(tokenizer: &Tokenizer, skip_special: bool) -> Self {
        let lead = tokenizer.lead();
        Self { tokenizer: tokenizer.clone(), skip_special, lead, tail: Utf8Tail::default() }
    }

    /// A stream that goes on from a text shown before: a leading space is kept.
    pub fn continuing(tokenizer: &Tokenizer, skip_special: bool) -> Self {
        Self { lead: Lead::Keep, ..Self::new(tokenizer, skip_special) }
    }

    /// Adds an id and returns the characters it completes, often none.
    ///
    /// # Errors
    /// [`Code::TokenUnknown`](crate::Code::TokenUnknown) when the tokenizer has no such id.
    pub fn push(&mut self, id: u32) -> Result<String, Refusal> {
        let bytes = self.tokenizer.bytes_or_refusal(id)?;
        if self.skip_special && self.tokenizer.is_special(id) {
            return Ok(String::new());
        }
        let text = match self.lead {
            Lead::Keep => self.tail.push(bytes),
            Lead::OneSpace => self.tail.push(bytes.strip_prefix(b" ").unwrap_or(bytes)),
            Lead::FirstTokenMarks => {
                let kept: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != b' ').collect();
                self.tail.push(&kept)
            }
        };
        // An empty token leaves the text at its beginning, except that the first *token* is first even if empty.
        if !bytes.is_empty() || self.lead == Lead::FirstTokenMarks {
            self.lead = Lead::Keep;
        }
        Ok(text)
    }

    /// Ends the text: an incomplete character becomes one U+FFFD.
    pub fn finish(mut self) -> String {
        self.tail.finish()
    }
}
