//! Telling a reasoning block from the answer, piece by piece.
//!
//! A reasoning model writes `<think>`, its reasoning, `</think>`, then the answer; some templates already open the
//! block at the end of the prompt. So the state starts from the rendered prompt and not from the first token. A tag
//! anywhere else than at the start of the reply is part of the answer: a block that was not opened is never looked
//! for, and an answer is never lost to it. White space around either part belongs to neither.

use tilewright_model::Prompt;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// What a piece of the reply added to each part. Reasoning always comes before the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Text inside the block.
    pub reasoning: String,
    /// Text of the answer.
    pub answer: String,
}

/// Splits a streamed reply. What it returns over all calls does not depend on how the reply was cut into pieces.
#[derive(Clone, Debug)]
pub struct ReasoningSplitter {
    state: State,
    /// Text that may yet turn out to be a tag, or white space before one.
    held: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing but white space so far: a block may be opened.
    Start,
    /// The block was opened; white space before its text is dropped.
    Opened,
    Reasoning,
    /// The block was closed; white space before the answer is dropped.
    Closed,
    Answer,
}

impl ReasoningSplitter {
    /// A splitter for the reply to `prompt`.
    pub fn new(prompt: &Prompt) -> Self {
        Self::starting(prompt.ends_inside(OPEN, CLOSE))
    }

    /// A splitter for the reply to a prompt that was not rendered: only an opening tag at its end counts.
    pub fn raw(prompt: &str) -> Self {
        Self::starting(prompt.trim_end().ends_with(OPEN))
    }

    /// A splitter that gives everything as the answer.
    pub fn answer() -> Self {
        Self { state: State::Answer, held: String::new() }
    }

    fn starting(opened: bool) -> Self {
        Self { state: if opened { State::Opened } else { State::Start }, held: String::new() }
    }

    /// Takes a piece of the reply and returns what is certain.
    pub fn push(&mut self, piece: &str) -> Parts {
        self.held.push_str(piece);
        let mut parts = Parts::default();
        while self.step(&mut parts) {}
        parts
    }

    /// Ends the reply: what was held is what it looks like.
    pub fn finish(&mut self) -> Parts {
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Opened | State::Closed => Parts::default(),
            State::Reasoning => Parts { reasoning: held.trim_end().to_owned(), answer: String::new() },
            State::Start | State::Answer => Parts { reasoning: String::new(), answer: held },
        }
    }

    /// Moves on as far as the held text allows; whether the state changed, so that there may be more.
    fn step(&mut self, parts: &mut Parts) -> bool {
        let text = self.held.trim_start();
        match self.state {
            State::Start => {
                if let Some(rest) = text.strip_prefix(OPEN) {
                    self.enter(State::Opened, rest.to_owned())
                } else if OPEN.starts_with(text) {
                    false
                } else {
                    // No block: the white space before the answer is the model's own.
                    self.enter(State::Answer, self.held.clone())
                }
            }
            State::Opened | State::Closed if text.is_empty() => {
                self.held.clear();
                false
            }
            State::Opened => self.enter(State::Reasoning, text.to_owned()),
            State::Closed => self.enter(State::Answer, text.to_owned()),
            State::Reasoning => {
                if let Some(at) = self.held.find(CLOSE) {
                    parts.reasoning.push_str(self.held[..at].trim_end());
                    let rest = self.held[at + CLOSE.len()..].to_owned();
                    self.enter(State::Closed, rest)
                } else {
                    let certain = self.held.len() - uncertain(&self.held);
                    parts.reasoning.extend(self.held.drain(..certain));
                    false
                }
            }
            State::Answer => {
                parts.answer.push_str(&self.held);
                self.held.clear();
                false
            }
        }
    }

    fn enter(&mut self, state: State, rest: String) -> bool {
        self.state = state;
        self.held = rest;
        true
    }
}

/// Bytes at the end of `text` that may be white space and the beginning of a closing tag.
fn uncertain(text: &str) -> usize {
    let tag = (1..CLOSE.len()).rev().find(|&n| text.ends_with(&CLOSE[..n])).unwrap_or(0);
    let before = &text[..text.len() - tag];
    text.len() - before.trim_end().len()
}

#[cfg(test)]
mod tests;
