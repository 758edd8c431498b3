//! `bench ceilings`: what the processor or a GPU can do at most.

use clap::Args;
use serde_json::json;
use tilewright_cpu::simd::Isa;
use tilewright_engine::DeviceRequest;
use tilewright_gate::probe::Limits;
use tilewright_gate::report::DeviceCeilings;
use tilewright_model::{Code, Refusal};

use super::device;
use super::flags::{MOST_THREADS, threads};
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::OutputFlags;

/// Measure what the processor or an NVIDIA GPU can do at most
///
/// Of the processor the read bandwidth and multiply-add rate, with the instructions and the number of threads that the CPU
/// device uses: a few seconds of full load. Of a GPU the read bandwidth of its memory, f32 multiply-adds and products of bf16,
/// with every trial: less than a second of load, and compiling the first time. Others are refused. What else runs on the machine
/// shows in them.
#[derive(Args, Debug)]
pub(super) struct CeilingsArgs {
    /// Device: auto, cpu, cuda, cuda:N, metal or (for developers) shim. No other device is used in its place
    #[arg(long, value_name = "DEVICE", default_value_t = DeviceRequest::Cpu)]
    device: DeviceRequest,

    /// Worker threads [default: one for each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_THREADS))]
    threads: Option<u16>,

    #[command(flatten)]
    pub(super) output: OutputFlags,
}

impl CeilingsArgs {
    pub(super) fn run(self, console: &mut Console) -> Result<(), Failure> {
        if matches!(self.device, DeviceRequest::Metal | DeviceRequest::Shim) {
            let expected = "a device whose ceilings can be measured (cpu, cuda, cuda:N)";
            return Err(Refusal::new(Code::DeviceOptionInvalid, "--device", expected, self.device).into());
        }
        if let (DeviceRequest::Cuda(_), Some(threads)) = (self.device, self.threads) {
            let refusal = Refusal::new(Code::DeviceOptionInvalid, "--threads", "none with a GPU", threads);
            return Err(refusal.with_remedy("Leave --threads out, or use --device cpu.").into());
        }
        // As with a model, a number of threads asks for the processor.
        let request = match (self.device, self.threads) {
            (DeviceRequest::Auto, Some(_)) => DeviceRequest::Cpu,
            (device, _) => device,
        };
        match device::measure(request.choose()?.kind) {
            Some(mut measure) => of_gpu(&measure()?, console),
            None => of_processor(threads(self.threads), console),
        }
    }
}

fn of_processor(threads: usize, console: &mut Console) -> Result<(), Failure> {
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

fn of_gpu(ceilings: &DeviceCeilings, console: &mut Console) -> Result<(), Failure> {
    if console.json() {
        return console.object(&json!(ceilings));
    }
    for (name, unit, rate) in ceilings.rates() {
        console.line(&format!("{}, {}: {name} {}", ceilings.device, ceilings.name, rate.describe(unit)))?;
    }
    Ok(())
}
