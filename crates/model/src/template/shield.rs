//! Telling what came from a message from what the template wrote.
//!
//! A control token in a prompt must be the template's own. Looking at the rendered text does not tell: a message may
//! spell one, and templates cut, trim and search messages, so a message cannot be wrapped in marks either.
//!
//! Instead the conversation is rendered a second time with other characters in it. Every control text begins and
//! ends with characters that hardly occur in words (`<`, `>`, `|`, `[`...); these are the *edges*. In the second
//! conversation each edge is a private-use character that occurs nowhere else. The literals that the template
//! examines strings with are changed alike, so `'</think>' in message.content` has the same answer. If undoing the
//! change gives exactly the first text, both renders went the same way, and the private characters mark exactly the
//! edges that came from messages: a control text is the template's own where both its edges are.
//!
//! If no second render matches the first, the conversation is refused.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::{Map, Value};

/// The edges of control texts.
pub(super) fn edges(control_texts: &[String]) -> Vec<char> {
    let plain = |c: &char| !c.is_alphanumeric() && !c.is_whitespace() && !['\'', '"', '\\', '_'].contains(c);
    let mut edges = BTreeSet::new();
    for text in control_texts {
        let first = text.chars().find(plain).or(text.chars().next());
        let last = text.chars().rev().find(plain);
        edges.extend(first.into_iter().chain(last));
    }
    edges.into_iter().collect()
}

/// Whether a string in `value` has an edge.
pub(super) fn has_edge(value: &Value, edges: &[char]) -> bool {
    match value {
        Value::String(text) => text.contains(edges),
        Value::Array(items) => items.iter().any(|item| has_edge(item, edges)),
        Value::Object(object) => {
            object.iter().any(|(key, item)| key.contains(edges) || has_edge(item, edges))
        }
        _ => false,
    }
}

/// A private-use character for each edge.
#[derive(Debug)]
pub(super) struct Shield {
    pairs: Vec<(char, char)>,
}

impl Shield {
    /// Private-use characters that occur in none of `texts`.
    pub(super) fn new(edges: &[char], texts: &[&str]) -> Self {
        let private = '\u{f0000}'..='\u{ffffd}';
        let taken: BTreeSet<char> =
            texts.iter().flat_map(|text| text.chars()).filter(|c| private.contains(c)).collect();
        let free = private.filter(|c| !taken.contains(c));
        Self { pairs: edges.iter().copied().zip(free).collect() }
    }

    fn marked(&self, c: char) -> char {
        self.pairs.iter().find(|(edge, _)| *edge == c).map_or(c, |(_, private)| *private)
    }

    /// `text` with private characters for edges.
    pub(super) fn mark(&self, text: &str) -> String {
        text.chars().map(|c| self.marked(c)).collect()
    }

    /// `value` with every string in it marked.
    pub(super) fn mark_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.mark(text)),
            Value::Array(items) => items.iter().map(|item| self.mark_value(item)).collect(),
            Value::Object(object) => Value::Object(self.mark_object(object)),
            other => other.clone(),
        }
    }

    /// `object` with every string in it marked, keys too.
    pub(super) fn mark_object(&self, object: &Map<String, Value>) -> Map<String, Value> {
        object.iter().map(|(key, item)| (self.mark(key), self.mark_value(item))).collect()
    }

    /// `source` with the given parts marked. The parts are in order and do not overlap.
    pub(super) fn mark_parts(&self, source: &str, parts: &[Range<usize>]) -> String {
        let (mut marked, mut done) = (String::new(), 0);
        for part in parts {
            marked.push_str(&source[done..part.start]);
            marked.push_str(&self.mark(&source[part.clone()]));
            done = part.end;
        }
        marked + &source[done..]
    }

    /// The spans of `text` whose characters are marked in `marked`; `None` when the two differ otherwise.
    pub(super) fn spans(&self, text: &str, marked: &str) -> Option<Vec<Range<usize>>> {
        let mut spans: Vec<Range<usize>> = Vec::new();
        let mut other = marked.chars();
        for (at, c) in text.char_indices() {
            let counterpart = other.next()?;
            if counterpart == c {
                continue;
            }
            if counterpart != self.marked(c) {
                return None;
            }
            let end = at + c.len_utf8();
            match spans.last_mut() {
                Some(last) if last.end == at => last.end = end,
                _ => spans.push(at..end),
            }
        }
        other.next().is_none().then_some(spans)
    }
}
