//! Standard output and standard error.
//!
//! Standard output carries generated text or JSON and nothing else. Notices, progress, logs and refusals go to
//! standard error. There is no colour anywhere. A closed standard error is ignored, a closed standard output ends
//! the command as a success.

mod format;
mod logging;
mod progress;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use serde_json::{Value, json};
use tilewright_model::{Refusal, Shown};

use crate::exit::Failure;
use crate::flags::OutputFlags;

pub(crate) use format::{bytes, rate};
pub(crate) use progress::{Bar, LoadingBar};

/// Where a command writes.
pub(crate) struct Console {
    flags: OutputFlags,
}

impl Console {
    /// The console for a command with these flags; also starts logging when asked to.
    pub(crate) fn new(flags: OutputFlags) -> Self {
        if flags.verbose {
            logging::start();
        }
        Self { flags }
    }

    /// Whether standard output carries JSON.
    pub(crate) fn json(&self) -> bool {
        self.flags.json
    }

    /// Whether a progress bar may be drawn.
    pub(crate) fn draws(&self) -> bool {
        !self.flags.quiet && io::stderr().is_terminal()
    }

    /// Writes text to standard output at once.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| Failure::writing(&error))
    }

    /// Writes one line of text to standard output.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), Failure> {
        self.text(&format!("{line}\n"))
    }

    /// Writes one JSON object, on one line, to standard output.
    pub(crate) fn object(&mut self, object: &Value) -> Result<(), Failure> {
        self.line(&object.to_string())
    }

    /// Tells the person something on standard error: a label of a fixed width, then the text.
    pub(crate) fn notice(&self, label: &str, text: &str) {
        if !self.flags.quiet {
            let _ = writeln!(io::stderr(), "{label:<9} {}", Shown(text));
        }
    }

    /// A bar for long work; hidden where nothing may be drawn.
    pub(crate) fn bar(&self, what: impl Into<Cow<'static, str>>) -> Bar {
        Bar::new(self, what)
    }

    /// Writes text that belongs beside the answer (split-off reasoning) to standard error as it is.
    pub(crate) fn aside(&self, text: &str) {
        if !self.flags.quiet && !self.flags.json {
            let _ = write!(io::stderr(), "{text}");
        }
    }

    /// Prints a refusal: as an object on standard output with `--json`, else on standard error, which also gets what cannot
    /// be written to standard output.
    pub(crate) fn refusal(&mut self, refusal: &Refusal) {
        let told = self.flags.json && self.object(&json!({"refusal": refusal})).is_ok();
        if !told {
            // Nobody is left to be told when this fails too.
            let _ = writeln!(io::stderr(), "refused: {refusal}");
        }
    }
}
