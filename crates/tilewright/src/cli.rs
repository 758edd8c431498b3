//! The command tree.
//!
//! Every flag can also be given by the environment variable `TILEWRIGHT_` + its long name, generated here so that
//! none can be forgotten. The command line outranks the environment.

use clap::builder::{FalseyValueParser, Str};
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands;
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::OutputFlags;

/// Run Qwen3-family and Llama-family language models locally.
#[derive(Debug, Parser)]
#[command(name = "tilewright", version, max_term_width = 110)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const AFTER_HELP: &str = "\
Every flag can be given by an environment variable as well: --prefill-chunk by TILEWRIGHT_PREFILL_CHUNK.
Exit codes: 0 done, 1 refused or failed, 2 usage, 130 stopped by Ctrl-C.";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(commands::run::RunArgs),
    Chat(commands::chat::ChatArgs),
    Inspect(commands::inspect::InspectArgs),
    Doctor(commands::doctor::DoctorArgs),
    Perplexity(commands::perplexity::PerplexityArgs),
    Convert(commands::convert::ConvertArgs),
    Kernels(commands::kernels::KernelsArgs),
    Completions(commands::completions::CompletionsArgs),
}

impl Command {
    /// How the command speaks.
    pub(crate) fn output(&self) -> OutputFlags {
        match self {
            Self::Run(args) => args.output,
            Self::Chat(args) => args.output,
            Self::Inspect(args) => args.output,
            Self::Doctor(args) => args.output,
            Self::Perplexity(args) => args.output,
            Self::Convert(args) => args.output,
            Self::Kernels(args) => args.output(),
            Self::Completions(_) => OutputFlags::default(),
        }
    }

    /// Carries the command out.
    pub(crate) fn run(self, console: &mut Console) -> Result<(), Failure> {
        match self {
            Self::Run(args) => commands::run::run(args, console),
            Self::Chat(args) => commands::chat::run(args, console),
            Self::Inspect(args) => commands::inspect::run(args, console),
            Self::Doctor(args) => commands::doctor::run(args, console),
            Self::Perplexity(args) => commands::perplexity::run(args, console),
            Self::Convert(args) => commands::convert::run(args, console),
            Self::Kernels(args) => commands::kernels::run(args, console),
            Self::Completions(args) => commands::completions::run(args, console),
        }
    }
}

/// The whole command tree, environment variables included.
pub(crate) fn command() -> clap::Command {
    with_environment(Cli::command())
}

/// Reads the command line and the environment.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    let mut command = command();
    let mut matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Gives every flag of every command its environment variable.
fn with_environment(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| match arg.get_long() {
            Some(long) => {
                let switch = matches!(arg.get_action(), ArgAction::SetTrue);
                let arg = arg.clone().env(Str::from(variable(long))).hide_env(true);
                // `TILEWRIGHT_JSON=1`, `=yes` and `=on` all mean on; clap alone would accept only `true`.
                if switch { arg.value_parser(FalseyValueParser::new()) } else { arg }
            }
            None => arg,
        })
        .mut_subcommands(with_environment)
        .after_help(AFTER_HELP)
}

/// The environment variable of a long flag.
pub(crate) fn variable(long: &str) -> String {
    format!("TILEWRIGHT_{}", long.to_uppercase().replace('-', "_"))
}

#[cfg(test)]
mod tests;
