//! What every benchmark of a model shares.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tilewright_gate::oracle::ReferenceChoice;
use tilewright_gate::peer::PeerChoice;

use crate::flags::{ModelFlags, OutputFlags};

/// How a table is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Markdown.
    #[default]
    Md,
    /// Comma-separated values.
    Csv,
}

/// The most threads that are taken; more is a slip of the keyboard.
pub(super) const MOST_THREADS: i64 = 1024;

/// Threads of what is not a model, unasked one for each core.
pub(super) fn threads(asked: Option<u16>) -> usize {
    asked.map_or_else(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get), usize::from)
}

/// Flags about the run and its report.
#[derive(Args, Debug)]
pub(super) struct RunFlags {
    /// Rounds; in each, every engine runs once, in changing order [default: 5, and 9 at a fixed context]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(3..), help_heading = "Measurement")]
    pub(super) trials: Option<u16>,

    /// Runs of each engine before the first round
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..), help_heading = "Measurement")]
    pub(super) warmups: u16,

    /// Milliseconds before each run in which nothing runs [default: 250 beside other engines, else 0]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(..=60_000), help_heading = "Measurement")]
    pub(super) pause: Option<u64>,

    /// Engine to compare with: llama.cpp, transformers, mlx or candle, with its Python or program after `=`
    #[arg(long, value_name = "PEER", help_heading = "Measurement")]
    pub(super) compare: Vec<PeerChoice>,

    /// Float64 forward to compare with: own, or torch, with its Python after `=`, which is held to our own first
    #[arg(long, value_name = "FORWARD", default_value_t, help_heading = "Measurement")]
    pub(super) reference: ReferenceChoice,

    /// Do not measure what the processor, or the NVIDIA GPU that runs the model, can do at most
    #[arg(long, help_heading = "Measurement")]
    pub(super) no_ceilings: bool,

    /// Folder for what peers need [default: `bench` in the user's cache folder]
    #[arg(long, value_name = "DIR", help_heading = "Measurement")]
    pub(super) work: Option<PathBuf>,

    /// New file for the report, FILE.json; the page FILE.html and the table FILE.md go beside it
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    pub(super) save: Option<PathBuf>,

    /// What the model is called in the report [default: its folder's name]
    #[arg(long, value_name = "NAME", help_heading = "Report")]
    pub(super) name: Option<String>,

    /// Form of the table on standard output
    #[arg(long, value_name = "FORM", value_enum, default_value_t, help_heading = "Report")]
    pub(super) format: Format,

    #[command(flatten)]
    pub(super) model: ModelFlags,
    #[command(flatten)]
    pub(super) output: OutputFlags,
}

impl RunFlags {
    /// Rounds, unasked `usual`.
    pub(super) fn rounds(&self, usual: usize) -> usize {
        self.trials.map_or(usual, usize::from)
    }

    /// The pause before each run. Other engines' threads spin for some time after their work.
    pub(super) fn pause(&self) -> Duration {
        let usual = if self.compare.is_empty() { 0 } else { 250 };
        Duration::from_millis(self.pause.unwrap_or(usual))
    }

    /// Threads of every engine, unasked one for each core.
    pub(super) fn threads(&self) -> usize {
        self.model.threads.map_or_else(
            || std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            NonZeroUsize::get,
        )
    }
}
