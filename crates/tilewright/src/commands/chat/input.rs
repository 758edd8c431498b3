//! Where entries come from: a terminal with line editing and history, or a pipe.

use std::io::{self, BufRead, IsTerminal, StdinLock};

use rustyline::error::ReadlineError;
use rustyline::{Behavior, Config, DefaultEditor};
use tilewright_model::{Code, Refusal};

use crate::exit::Failure;

/// One line of input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Its text, without the line break.
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the end of the pipe.
    End,
}

/// A source of lines.
pub(crate) trait Input {
    /// The next line; `continued` says that it goes on with an entry already begun.
    fn line(&mut self, continued: bool) -> Result<Line, Failure>;

    /// Whether a person is at the other end.
    fn interactive(&self) -> bool;
}

/// The terminal if standard input is one, else the pipe.
pub(crate) fn open() -> Result<Box<dyn Input>, Failure> {
    if !io::stdin().is_terminal() {
        return Ok(Box::new(Piped(io::stdin().lock())));
    }
    // Standard output may be a file that must hold replies only, so the editor speaks to the terminal itself.
    let config = Config::builder().behavior(Behavior::PreferTerm).auto_add_history(true).build();
    let editor = DefaultEditor::with_config(config).map_err(|error| unreadable(&error))?;
    Ok(Box::new(Terminal(editor)))
}

struct Terminal(DefaultEditor);

impl Input for Terminal {
    fn line(&mut self, continued: bool) -> Result<Line, Failure> {
        match self.0.readline(if continued { ". " } else { "> " }) {
            Ok(line) => Ok(Line::Text(line)),
            Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(error) => Err(unreadable(&error)),
        }
    }

    fn interactive(&self) -> bool {
        true
    }
}

struct Piped(StdinLock<'static>);

impl Input for Piped {
    fn line(&mut self, _continued: bool) -> Result<Line, Failure> {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(0) => Ok(Line::End),
            Ok(_) => Ok(Line::Text(line.trim_end_matches(['\n', '\r']).to_owned())),
            Err(error) => Err(unreadable(&error)),
        }
    }

    fn interactive(&self) -> bool {
        false
    }
}

fn unreadable(error: &dyn std::fmt::Display) -> Failure {
    Refusal::new(Code::FileUnreadable, "standard input", "lines of UTF-8 text", error).into()
}
