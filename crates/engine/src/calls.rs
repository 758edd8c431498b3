//! Calls of tools in a reply, as Qwen3 writes them, piece by piece.
//!
//! A call is `<tool_call>`, an object with `name` and `arguments`, `</tool_call>`. A block that is something else, or calls a
//! tool that was not offered, is text and stays in the text.

use std::sync::Arc;

use serde_json::{Map, Value, json};

/// The beginning of a call.
pub const CALL_OPEN: &str = "<tool_call>";
/// The end of a call.
pub const CALL_CLOSE: &str = "</tool_call>";

/// A call in a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which tool.
    pub name: String,
    /// An object, as JSON.
    pub arguments: String,
}

/// Finds calls in an answer that comes in pieces. What it gives over all pieces does not depend on where they are cut.
#[derive(Clone, Debug)]
pub struct CallParser {
    /// Tools that are offered; `None` where any will do.
    names: Option<Arc<[String]>>,
    state: State,
    /// Text that may yet turn out to be the beginning of a call, or is within one.
    held: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    /// After an opening tag.
    Inside,
    /// After a call: white space belongs to nothing.
    After,
}

impl CallParser {
    /// Finds calls of these tools.
    pub fn of(names: impl Iterator<Item = String>) -> Self {
        Self { names: Some(names.collect()), ..Self::any() }
    }

    /// Finds calls of any tool.
    pub fn any() -> Self {
        Self { names: None, state: State::Text, held: String::new() }
    }

    /// Takes a piece: text that is certain, and calls that are complete.
    pub fn push(&mut self, piece: &str) -> (String, Vec<Call>) {
        self.held.push_str(piece);
        let (mut text, mut calls) = (String::new(), Vec::new());
        loop {
            match self.state {
                State::After => {
                    let kept = self.held.trim_start().len();
                    self.held.drain(..self.held.len() - kept);
                    if self.held.is_empty() {
                        return (text, calls);
                    }
                    self.state = State::Text;
                }
                State::Text => match self.held.find(CALL_OPEN) {
                    Some(at) => {
                        text.push_str(self.held[..at].trim_end());
                        // The white space stays in case the block is text after all.
                        self.held.drain(..self.held[..at].trim_end().len());
                        self.state = State::Inside;
                    }
                    None => {
                        let certain = self.held.len() - uncertain(&self.held);
                        text.extend(self.held.drain(..certain));
                        return (text, calls);
                    }
                },
                State::Inside => {
                    let Some(end) = closing(&self.held) else { return (text, calls) };
                    let rest = self.held.split_off(end + CALL_CLOSE.len());
                    let block = std::mem::replace(&mut self.held, rest);
                    let start = block.find(CALL_OPEN).map_or(0, |at| at + CALL_OPEN.len());
                    match self.read(&block[start..block.len() - CALL_CLOSE.len()]) {
                        Some(call) => {
                            calls.push(call);
                            self.state = State::After;
                        }
                        None => {
                            text.push_str(&block);
                            self.state = State::Text;
                        }
                    }
                }
            }
        }
    }

    /// Ends the answer: what was held is text.
    pub fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        if self.state == State::After { String::new() } else { held }
    }

    fn read(&self, block: &str) -> Option<Call> {
        let mut object: Map<String, Value> = serde_json::from_str(block.trim()).ok()?;
        let name = object.remove("name")?.as_str()?.to_owned();
        let arguments = object.remove("arguments").unwrap_or_else(|| json!({}));
        let offered = self.names.as_ref().is_none_or(|names| names.contains(&name));
        let good = object.is_empty() && arguments.is_object() && offered;
        good.then(|| Call { name, arguments: arguments.to_string() })
    }
}

/// Where the block that `text` begins with is closed: at the first closing tag that is no part of a string.
fn closing(text: &str) -> Option<usize> {
    let start = text.find(CALL_OPEN).map_or(0, |at| at + CALL_OPEN.len());
    let within = |at: usize| {
        let upto = text.get(start..at + CALL_CLOSE.len()).unwrap_or_default();
        // With the tag it is still the beginning of JSON.
        serde_json::from_str::<Value>(upto.trim_start()).is_err_and(|error| error.is_eof())
    };
    text.match_indices(CALL_CLOSE).map(|(at, _)| at).find(|&at| !within(at))
}

/// Bytes at the end of `text` that may be white space and the beginning of an opening tag.
fn uncertain(text: &str) -> usize {
    let tag = (1..CALL_OPEN.len()).rev().find(|&n| text.ends_with(&CALL_OPEN[..n])).unwrap_or(0);
    text.len() - text[..text.len() - tag].trim_end().len()
}

#[cfg(test)]
mod tests;
