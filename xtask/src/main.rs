//! The project's task runner: `cargo xtask VERB`.
//!
//! Five verbs cover daily work (check, test, golden, docs, bench); `full` adds what is too long for every change.
//! Continuous integration runs the same verbs, so that a green run here means the same as a green run there.

mod bench;
mod check;
mod full;
mod seeded;
mod shell;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "xtask", about = "The project's task runner")]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Formatting, lints, documentation warnings, dependency policy.
    Check,
    /// Every test of the workspace.
    Test,
    /// Rewrite golden files and generated pages, then show what changed.
    Golden,
    /// Build the API documentation, warnings as errors.
    Docs,
    /// Criterion benchmarks; extra arguments go to them.
    Bench {
        /// Arguments for the benchmarks.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Write a checkpoint of random weights in the shape of a published model; `--help` lists the arguments.
    #[command(disable_help_flag = true)]
    Seeded {
        /// Arguments for the generator.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Long checks: fuzzing for minutes a target, on top of check and test.
    Full {
        /// Seconds of fuzzing a target.
        #[arg(long, default_value_t = 180)]
        fuzz_seconds: u32,
    },
}

fn main() -> anyhow::Result<()> {
    match Args::parse().verb {
        Verb::Check => check::check(),
        Verb::Test => check::test(),
        Verb::Golden => check::golden(),
        Verb::Docs => check::docs(),
        Verb::Bench { args } => bench::bench(&args),
        Verb::Seeded { args } => seeded::seeded(&args),
        Verb::Full { fuzz_seconds } => full::full(fuzz_seconds),
    }
}
