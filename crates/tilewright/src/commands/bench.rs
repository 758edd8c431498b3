//! `bench`: the gate first, then times, then a report that audits itself.

mod ceilings;
mod device;
mod flags;
mod kernels;
mod run;
mod serve;
mod work;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use tilewright_gate::audit::audit_path;

use self::ceilings::CeilingsArgs;
use self::flags::RunFlags;
use self::kernels::KernelsArgs;
use self::serve::ServeArgs;
use self::work::{BatchArgs, EndToEndArgs, FixedContextArgs, LongDocumentArgs, UsualArgs};
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::OutputFlags;

/// Measure a model, after comparing it with the float64 reference
///
/// Without a command: prompts (pp512) and runs of single tokens (tg128), after each depth. Before anything is timed,
/// logits over the whole vocabulary, keys and values of every layer and the chosen ids are compared with a float64
/// forward; where they do not agree, the report says so and has no times. docs/bench.md explains the reports.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    command: Option<BenchCommand>,
    #[command(flatten)]
    usual: UsualArgs,
    #[command(flatten)]
    run: RunFlags,
}

/// What else can be measured.
#[derive(Debug, Subcommand)]
enum BenchCommand {
    EndToEnd(EndToEndArgs),
    FixedContext(FixedContextArgs),
    LongDocument(LongDocumentArgs),
    Batch(BatchArgs),
    Serve(ServeArgs),
    Kernels(KernelsArgs),
    Ceilings(CeilingsArgs),
    Audit(AuditArgs),
}

/// Judge reports by what stands in them
///
/// Computes medians, ratios and intervals again from the raw trials, and checks hashes, ids, the order of the runs and
/// every comparison with the reference. Exits with 1 at the first report that does not follow from itself.
#[derive(Args, Debug)]
struct AuditArgs {
    /// Report, or folder of reports
    #[arg(value_name = "PATH")]
    path: PathBuf,
    #[command(flatten)]
    output: OutputFlags,
}

impl BenchArgs {
    /// How the command speaks.
    pub(crate) fn output(&self) -> OutputFlags {
        match &self.command {
            None => self.run.output,
            Some(BenchCommand::EndToEnd(args)) => args.run.output,
            Some(BenchCommand::FixedContext(args)) => args.run.output,
            Some(BenchCommand::LongDocument(args)) => args.run.output,
            Some(BenchCommand::Batch(args)) => args.run.output,
            Some(BenchCommand::Serve(args)) => args.output,
            Some(BenchCommand::Kernels(args)) => args.output,
            Some(BenchCommand::Ceilings(args)) => args.output,
            Some(BenchCommand::Audit(args)) => args.output,
        }
    }
}

/// Carries `bench` out.
pub(crate) fn run(args: BenchArgs, console: &mut Console) -> Result<(), Failure> {
    match args.command {
        None => args.usual.run(args.run, console),
        Some(BenchCommand::EndToEnd(args)) => args.run(console),
        Some(BenchCommand::FixedContext(args)) => args.run(console),
        Some(BenchCommand::LongDocument(args)) => args.run(console),
        Some(BenchCommand::Batch(args)) => args.run(console),
        Some(BenchCommand::Serve(args)) => args.run(console),
        Some(BenchCommand::Kernels(args)) => args.run(console),
        Some(BenchCommand::Ceilings(args)) => args.run(console),
        Some(BenchCommand::Audit(args)) => audit(&args, console),
    }
}

fn audit(args: &AuditArgs, console: &mut Console) -> Result<(), Failure> {
    let audited = audit_path(&args.path)?;
    if console.json() {
        let paths: Vec<String> = audited.iter().map(|(path, _)| path.display().to_string()).collect();
        return console.object(&json!({"audited": paths}));
    }
    for (path, report) in audited {
        console.line(&format!("{}: {}, sound", path.display(), report.describe()))?;
    }
    Ok(())
}
