//! How a command ends: the exit codes, and the one place that turns an outcome into one.
//!
//! | code | meaning |
//! | --- | --- |
//! | 0 | done; also when the reader of standard output went away |
//! | 1 | refused or failed; the refusal is printed with its code, every finding and the remedy |
//! | 2 | usage: the command line does not parse; the refusal says what was expected |
//! | 130 | stopped by Ctrl-C; what was generated until then has been written |

use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::json;
use tilewright_model::{Code, Refusal};

use crate::cli::{self, Cli};
use crate::console::Console;

/// The exit code after Ctrl-C, as shells give it (128 + SIGINT).
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command did not come to its end.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something could not be honoured.
    Refused(Box<Refusal>),
    /// The command ran and its verdict, already printed, is negative.
    Negative,
    /// The reader of standard output went away: nobody is left to be told, and it is no error.
    BrokenPipe,
    /// Ctrl-C.
    Interrupted,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl Failure {
    /// A failed write to standard output.
    pub(crate) fn writing(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Refusal::new(Code::FileUnwritable, "standard output", "room to write", error).into(),
        }
    }
}

/// Runs a parsed command line to its exit code.
pub(crate) fn run(cli: Cli) -> ExitCode {
    let mut console = Console::new(cli.command.output());
    cli::warn_of_unread_variables(&console);
    match cli.command.run(&mut console) {
        Ok(()) | Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(Failure::Refused(refusal)) => {
            console.refusal(&refusal);
            ExitCode::FAILURE
        }
        Err(Failure::Negative) => ExitCode::FAILURE,
        Err(Failure::Interrupted) => ExitCode::from(INTERRUPTED),
    }
}

/// Prints what the parser has to say: help and version to standard output, errors as refusals to standard error, and with
/// `--json` as an object on standard output too.
pub(crate) fn usage(message: &clap::Error, json: bool) -> ExitCode {
    if message.use_stderr() {
        // Nobody is left to be told when a write fails too.
        match cli::usage_refusal(message) {
            None => _ = message.print(),
            Some(refusal) => {
                let usage = cli::usage(message).map(|usage| format!("\n{usage}")).unwrap_or_default();
                let _ = writeln!(io::stderr(), "refused: {refusal}{usage}");
                if json {
                    let _ = writeln!(io::stdout(), "{}", json!({"refusal": refusal}));
                }
            }
        }
        return ExitCode::from(2);
    }
    let written = message.print().and_then(|()| io::stdout().flush());
    match written.map_err(|error| Failure::writing(&error)) {
        Err(Failure::Refused(refusal)) => {
            let _ = writeln!(io::stderr(), "refused: {refusal}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
