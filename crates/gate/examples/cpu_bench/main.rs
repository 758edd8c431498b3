//! The CPU device beside llama.cpp: `cargo xtask bench cpu`.
//!
//! Both engines hold the same seeded weights in the same number of bits and take turns, one repetition each, so that
//! whatever the machine does meanwhile meets both. The limits of the machine are probed before and after each row. Random
//! weights cost the same time as trained ones; what they say is no use to anyone.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the table goes to standard output, remarks beside it"
)]

mod cases;
mod ours;
mod peer;
mod report;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;
use clap::Parser;
use indicatif::ProgressBar;
use tilewright_cpu::simd::Isa;
use tilewright_gate::probe::Limits;
use tilewright_gate::seeded;

use cases::{CASES, Case, Load};
use ours::Ours;
use peer::Peer;
use report::Row;

/// Times the CPU device and llama.cpp in turns.
#[derive(Parser)]
#[command(name = "cargo xtask bench cpu")]
struct Args {
    /// A Python with the packages of bench/peers/requirements.txt; without it only we are timed.
    #[arg(long)]
    python: Option<PathBuf>,
    /// Where checkpoints and GGUF files are kept between runs.
    #[arg(long, default_value = "target/bench")]
    work: PathBuf,
    /// Only cases whose name contains this, such as "qwen3-0.6b int8".
    #[arg(long)]
    only: Option<String>,
    /// Only loads with prompts of this length.
    #[arg(long)]
    prefill: Option<usize>,
    /// Repetitions of each engine.
    #[arg(long, default_value_t = 5)]
    reps: usize,
    /// Threads of each engine.
    #[arg(long)]
    threads: Option<usize>,
}

/// Seconds of one repetition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) prefill: f64,
    pub(crate) decode: f64,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let threads = match args.threads {
        Some(threads) => threads,
        None => std::thread::available_parallelism()?.get(),
    };
    report::heading(threads, args.reps);
    CASES
        .iter()
        .filter(|case| args.only.as_ref().is_none_or(|only| case.name().contains(only)))
        .try_for_each(|case| measure(case, &args, threads))
}

/// Times a case and prints a row for each of its loads as soon as that is done.
fn measure(case: &Case, args: &Args, threads: usize) -> anyhow::Result<()> {
    let loads: Vec<Load> =
        case.loads.iter().copied().filter(|load| args.prefill.is_none_or(|n| n == load.prefill)).collect();
    let Some(context) = loads.iter().map(|load| load.prefill + load.decode + 8).max() else {
        return Ok(());
    };
    let dir = checkpoint(case, &args.work)?;
    let mut peer = match (&args.python, case.gguf) {
        (Some(python), Some(kind)) => Some(start_peer(python, &dir, kind, threads, context)?),
        _ => None,
    };
    let mut ours = Ours::open(&dir, case.weights, threads, context)?;

    let version = peer.as_ref().map_or("no peer", |peer| &peer.version);
    eprintln!("{}: {}, beside {version}", case.name(), ours.plan().kernels);
    for load in loads {
        let mut row = Row::new(case, load, ours.plan());
        let before = Limits::measure(Isa::detect(), threads);
        let bar = ProgressBar::new(args.reps as u64 + 1);
        for rep in 0..=args.reps {
            bar.set_position(rep as u64);
            // Decoding begins anew after the same prompt.
            let again = rep > 0 && load.decode > 0;
            let mine = ours.time(load, again)?;
            let theirs = peer.as_mut().map(|peer| peer.time(load, again)).transpose()?;
            // The first turn warms both up.
            if rep > 0 {
                row.ours.push(mine);
                row.theirs.extend(theirs);
            }
        }
        bar.finish_and_clear();
        report::print(&row, [before, Limits::measure(Isa::detect(), threads)]);
    }
    Ok(())
}

/// The seeded checkpoint of a case, made at the first use.
fn checkpoint(case: &Case, work: &Path) -> anyhow::Result<PathBuf> {
    let dir = work.join(case.preset.name());
    if !dir.join("config.json").exists() {
        seeded::write(&case.preset.config(), 1, &dir, &mut |_| {})?;
    }
    Ok(dir)
}

/// llama.cpp over the same weights as GGUF, which is made at the first use.
fn start_peer(python: &Path, dir: &Path, kind: &str, threads: usize, context: usize) -> anyhow::Result<Peer> {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/peers");
    let gguf = PathBuf::from(format!("{}.{kind}.gguf", dir.display()));
    if !gguf.exists() {
        let partial = PathBuf::from(format!("{}.partial", gguf.display()));
        let made = Command::new(python)
            .arg(scripts.join("write_gguf.py"))
            .args([dir, &partial])
            .arg(kind)
            .status()?;
        ensure!(made.success(), "write_gguf.py: {made}");
        std::fs::rename(partial, &gguf)?;
    }
    let mut command = Command::new(python);
    command.arg(scripts.join("time_llama_cpp.py")).arg(&gguf);
    command.args(["--threads", &threads.to_string(), "--context", &context.to_string()]);
    Peer::start(command)
}
