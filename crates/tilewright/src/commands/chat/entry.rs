//! What a person enters: a message of one or several lines, or a command.
//!
//! A line that ends in a backslash goes on in the next. `"""` begins a block that the next `"""` ends; what it holds is
//! a message whatever it begins with, so that a message may start with a slash.

use super::input::{Input, Line};
use crate::exit::Failure;

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A message.
    Say(String),
    /// `/help`.
    Help,
    /// `/reset`.
    Reset,
    /// `/system TEXT`, or `/system` alone to take it away.
    System(Option<String>),
    /// `/exit`, `/quit`, Ctrl-D, or the end of the input.
    Exit,
    /// A slash and a word that is no command.
    Unknown(String),
    /// Ctrl-C while entering.
    Interrupted,
    /// The input ended inside a block, which is therefore no message.
    Unfinished,
}

const BLOCK: &str = "\"\"\"";

/// Reads one entry; blank lines between entries are skipped.
pub(crate) fn read(input: &mut dyn Input) -> Result<Entry, Failure> {
    loop {
        let line = match input.line(false)? {
            Line::Text(line) => line,
            Line::Interrupted => return Ok(Entry::Interrupted),
            Line::End => return Ok(Entry::Exit),
        };
        let begin = line.trim_start();
        if let Some(rest) = begin.strip_prefix(BLOCK) {
            return block(rest, input);
        }
        if begin.starts_with('/') {
            return Ok(command(line.trim()));
        }
        if begin.is_empty() {
            continue;
        }
        return message(line, input);
    }
}

fn message(mut line: String, input: &mut dyn Input) -> Result<Entry, Failure> {
    let mut text = String::new();
    while let Some(more) = line.strip_suffix('\\') {
        text.push_str(more);
        text.push('\n');
        line = match input.line(true)? {
            Line::Text(line) => line,
            Line::Interrupted => return Ok(Entry::Interrupted),
            Line::End => String::new(),
        };
    }
    text.push_str(&line);
    Ok(Entry::Say(text.trim_end().to_owned()))
}

fn block(first: &str, input: &mut dyn Input) -> Result<Entry, Failure> {
    let mut text = first.to_owned();
    loop {
        if let Some(end) = text.find(BLOCK) {
            text.truncate(end);
            break;
        }
        match input.line(true)? {
            Line::Text(line) => {
                text.push('\n');
                text.push_str(&line);
            }
            Line::Interrupted => return Ok(Entry::Interrupted),
            Line::End => return Ok(Entry::Unfinished),
        }
    }
    Ok(Entry::Say(text.trim_matches('\n').to_owned()))
}

fn command(line: &str) -> Entry {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    match (word, rest.is_empty()) {
        ("/help", true) => Entry::Help,
        ("/reset", true) => Entry::Reset,
        ("/exit" | "/quit", true) => Entry::Exit,
        ("/system", empty) => Entry::System((!empty).then(|| rest.to_owned())),
        _ => Entry::Unknown(line.to_owned()),
    }
}

#[cfg(test)]
mod tests;
