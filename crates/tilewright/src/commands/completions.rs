//! `completions`: the completion script of a shell.

use clap::Args;
use clap_complete::Shell;

use crate::cli;
use crate::console::Console;
use crate::exit::Failure;

/// Print the completion script of a shell
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Writes the script to standard output.
pub(crate) fn run(args: CompletionsArgs, console: &mut Console) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "tilewright", &mut script);
    console.text(&String::from_utf8_lossy(&script))
}
