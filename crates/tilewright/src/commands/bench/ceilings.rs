//! `bench ceilings`: what the machine can do at most.

use clap::Args;
use serde_json::json;
use tilewright_cpu::simd::Isa;
use tilewright_gate::probe::Limits;

use super::flags::{MOST_THREADS, threads};
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::OutputFlags;

/// Measure the processor's read bandwidth and multiply-add rate
///
/// With the instructions and the number of threads that the CPU device uses, a few seconds of full load. What else runs
/// on the machine shows in them.
#[derive(Args, Debug)]
pub(super) struct CeilingsArgs {
    /// Worker threads [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_THREADS))]
    threads: Option<u16>,

    #[command(flatten)]
    pub(super) output: OutputFlags,
}

impl CeilingsArgs {
    pub(super) fn run(self, console: &mut Console) -> Result<(), Failure> {
        let threads = threads(self.threads);
        let isa = Isa::detect();
        let limits = Limits::measure(isa, threads);
        if console.json() {
            return console.object(&json!({
                "threads": threads, "isa": isa.to_string(), "read_bytes_per_second": limits.read,
                "f32_operations_per_second": limits.fma,
            }));
        }
        console.line(&format!(
            "{isa}, {threads} threads: read {:.1} GB/s, f32 multiply-add {:.0} GFLOP/s",
            limits.read / 1e9,
            limits.fma / 1e9
        ))
    }
}
