//! `bench kernels`: the CPU device's products alone.

use std::num::NonZeroUsize;

use clap::Args;
use serde_json::json;
use tilewright_cpu::simd::Isa;
use tilewright_gate::kernels::{KernelSettings, measure};
use tilewright_gate::probe::Limits;
use tilewright_gate::seeded::Preset;
use tilewright_gate::table;
use tilewright_model::WeightFormat;

use super::flags::{MOST_THREADS, threads};
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::OutputFlags;

/// Bytes of the copies of a matrix: more than outer caches hold.
const BYTES: usize = 128 << 20;

/// Time the processor's matrix products alone
///
/// Every product of a layer and of the head, in the shape of a published model with random weights: compared with float64
/// first, then timed beside the machine's read bandwidth and multiply-add rate.
#[derive(Args, Debug)]
pub(super) struct KernelsArgs {
    /// Shape of a published model: qwen3-0.6b, qwen3-8b or smollm2-135m
    #[arg(long, value_name = "PRESET", default_value_t = Preset::Qwen3Small)]
    preset: Preset,

    /// Formats of the matrices, several separated by commas
    #[arg(long, value_name = "FORMAT,…", value_delimiter = ',', default_value = "int8")]
    formats: Vec<WeightFormat>,

    /// Rows of activations, several separated by commas: 1 is a step, 512 a chunk of a prompt
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,512")]
    rows: Vec<NonZeroUsize>,

    /// Times that each product is timed
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    repeats: u16,

    /// Worker threads [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_THREADS))]
    threads: Option<u16>,

    #[command(flatten)]
    pub(super) output: OutputFlags,
}

impl KernelsArgs {
    pub(super) fn run(self, console: &mut Console) -> Result<(), Failure> {
        let threads = threads(self.threads);
        let limits = Limits::measure(Isa::detect(), threads);
        let mut kernels = Vec::new();
        for weights in self.formats {
            let settings = KernelSettings {
                weights,
                threads,
                rows: self.rows.iter().map(|rows| rows.get()).collect(),
                trials: usize::from(self.repeats),
                bytes: BYTES,
            };
            let bar = console.bar(format!("products in {weights}"));
            let mut tell = |done, total| bar.report(done as u64, total as u64);
            kernels.extend(measure(&self.preset.config(), &settings, &mut tell)?);
        }
        if console.json() {
            return console.object(&json!({
                "preset": self.preset.name(), "threads": threads, "read_bytes_per_second": limits.read,
                "f32_operations_per_second": limits.fma, "kernels": kernels,
            }));
        }
        console.line(&format!(
            "{}, {threads} threads; read {:.1} GB/s, f32 multiply-add {:.0} GFLOP/s\n\n\
             | product | format | rows | median | GB/s | of read | Gop/s | of f32 | error |\n|{}",
            self.preset,
            limits.read / 1e9,
            limits.fma / 1e9,
            " --- |".repeat(9)
        ))?;
        for kernel in &kernels {
            console.line(&format!(
                "| {} {} × {} | {} | {} | {} | {:.1} | {:.0} % | {:.0} | {:.0} % | {:.1e} |",
                kernel.name,
                kernel.outputs,
                kernel.inputs,
                kernel.weights,
                kernel.rows,
                table::time(kernel.median_ns),
                kernel.bytes_per_second / 1e9,
                100.0 * kernel.bytes_per_second / limits.read,
                kernel.operations_per_second / 1e9,
                100.0 * kernel.operations_per_second / limits.fma,
                kernel.error.unwrap_or(f64::NAN)
            ))?;
        }
        Ok(())
    }
}
