//! Times the step of overlapping launches on random weights of the Qwen3-0.6B shape:
//! `cargo run --release -p tilewright-cuda --example overlap -- FOLDER`.
//!
//! The checkpoint is made in FOLDER if it is not there. Every trial is printed. Before anything is timed, steps started
//! together must choose what steps started one by one choose.

#![expect(clippy::print_stdout, reason = "its answer goes to standard output")]

use std::path::PathBuf;
use std::time::Instant;

use tilewright_cuda::{LanguageGpu, ResidentPipeline};
use tilewright_gate::seeded::{Preset, write};
use tilewright_kernels::decode::Options;
use tilewright_kernels::decode::overlap::{Step, overlapped};
use tilewright_kernels::{Shape, host};
use tilewright_model::{Checkpoint, Code, Refusal};
use tilewright_tile::Scalar;

const TOKENS: usize = 128;
const TRIALS: usize = 7;
const FIRST: u32 = 5;

fn main() -> Result<(), Refusal> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "seeded".to_owned()));
    if !folder.join("config.json").exists() {
        write(&Preset::Qwen3Small.config(), 0, &folder, &mut |_| ())?;
    }
    let checkpoint = Checkpoint::open(&folder)?;
    let gpu = LanguageGpu::open(0)?;
    for options in [Options::PAIRS, Options::INT8] {
        for capacity in [512, 2048] {
            measure(&gpu, &checkpoint, options.cache(Scalar::Bf16), capacity)?;
        }
    }
    Ok(())
}

fn measure(
    gpu: &LanguageGpu,
    checkpoint: &Checkpoint,
    options: Options,
    capacity: u32,
) -> Result<(), Refusal> {
    let shape = Shape::new(checkpoint.config(), capacity);
    let rejected =
        |e: &dyn std::fmt::Display| Refusal::new(Code::KernelRejected, "pipeline", "one that is accepted", e);
    let pipeline = overlapped("overlap", &shape, &options, Step::Token).map_err(|e| rejected(&e))?;
    let pipeline = pipeline.verify().map_err(|e| rejected(&e))?;
    let mut step = gpu.pipeline(&pipeline)?;
    for (name, bytes) in host::weights(&checkpoint.parameters(), &shape, options.weights, |t| t.to_f32())? {
        step.write(name, 0, &bytes)?;
    }
    step.write("rotary", 0, bytemuck::cast_slice(&host::rotary(&checkpoint.config().rope, &shape)))?;
    let (weights, launches) = (options.weights.name(), pipeline.dispatches());
    println!("{weights} weights, bf16 cache, room for {capacity}, {launches} launches a step");

    let expected = (0..64).map(|position| one(&mut step, position)).collect::<Result<Vec<u32>, _>>()?;
    let together = many(&mut step, 0, 64)?;
    println!("  the same ids started one by one and together: {}", expected == together);
    for position in [1, 128, 256, 1024, 1800] {
        if position + TOKENS < capacity as usize {
            many(&mut step, 0, position)?;
            let mut times = Vec::new();
            for _ in 0..=TRIALS {
                let start = Instant::now();
                many(&mut step, position, TOKENS)?;
                times.push(start.elapsed());
            }
            times.remove(0);
            let trials: Vec<String> = times.iter().map(|t| format!("{:.2}", t.as_secs_f64() * 1e3)).collect();
            times.sort_unstable();
            let each = times[TRIALS / 2].as_secs_f64() / TOKENS as f64;
            println!(
                "  after {position}: {:.1} us a token, {:.0} tok/s; ms: {}",
                each * 1e6,
                1.0 / each,
                trials.join(" ")
            );
        }
    }
    Ok(())
}

/// The id chosen after `position`, in a step of its own that begins as the one before has left it.
fn one(step: &mut ResidentPipeline<'_>, position: usize) -> Result<u32, Refusal> {
    if position == 0 {
        step.write("control", 0, bytemuck::cast_slice(&[FIRST, 0]))?;
    }
    step.start(1)?;
    let mut id = [0u32];
    step.read("ids", position * 4, bytemuck::cast_slice_mut(&mut id))?;
    Ok(id[0])
}

/// `count` ids from `position` on.
fn many(step: &mut ResidentPipeline<'_>, position: usize, count: usize) -> Result<Vec<u32>, Refusal> {
    step.write("control", 0, bytemuck::cast_slice(&[FIRST, position as u32]))?;
    step.start(count)?;
    let mut ids = vec![0u32; count];
    step.read("ids", position * 4, bytemuck::cast_slice_mut(&mut ids))?;
    Ok(ids)
}
