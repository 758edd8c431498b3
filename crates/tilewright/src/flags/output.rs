//! How a command speaks.

use clap::Args;

/// Flags about standard output and standard error.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// Print one JSON object on standard output, refusals included
    #[arg(long)]
    pub json: bool,

    /// Print nothing on standard error but refusals
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Log what the engine does on standard error
    #[arg(short, long)]
    pub verbose: bool,
}
