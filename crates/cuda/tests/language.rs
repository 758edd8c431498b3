//! Every kernel of the catalogue on the GPU: what its CUDA text leaves is what the interpreter leaves.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test"
)]

mod common;

use std::sync::Mutex;

use common::present;
use tilewright_cuda::LanguageGpu;
use tilewright_kernels::{Shape, catalogue};
use tilewright_tile::ir::{Math, OpKind};
use tilewright_tile::testing::trial::Trial;
use tilewright_tile::{Kernel, Scalar, Verified, verify};

/// Whether a kernel uses one of some functions.
fn uses(kernel: &Kernel, which: impl Fn(Math) -> bool) -> bool {
    let mut found = false;
    kernel.walk(|op, _| found |= matches!(kernel.ops()[op].kind, OpKind::Math(math, _) if which(math)));
    found
}

/// Whether two machines may round a function differently. Roots, quotients and sums are exact.
fn is_inexact(math: Math) -> bool {
    let precise = matches!(math, Math::Exp | Math::Exp2 | Math::Log | Math::Sin | Math::Cos | Math::Tanh);
    precise || math.is_fast()
}

/// What such functions may move an element by: an angle that is off by a unit in the last place, at the last position of
/// these shapes, in f32; one unit in the last place of a narrower type.
fn tolerance(scalar: Scalar, expected: f64, angles: bool) -> f64 {
    match scalar {
        Scalar::F16 => 2f64.powi(-10) * expected.abs().max(0.1),
        Scalar::Bf16 => 2f64.powi(-7) * expected.abs().max(0.1),
        // The fast sine's error grows with the angle, as its maker says.
        _ if angles => 5e-5,
        _ => 1e-5 * expected.abs().max(1.0),
    }
}

fn compare(gpu: &LanguageGpu, kernel: &Verified<Kernel>) -> Result<(), String> {
    let compiled = gpu.compile(kernel).map_err(|e| e.to_string())?;
    for seed in 1..=2 {
        let trial = Trial::new(kernel, seed, &(0..=3));
        let (expected, _) = trial.run(kernel).map_err(|fault| fault.to_string())?;
        let (mut memory, dispatch) = trial.dispatch(kernel);
        gpu.run(&compiled, &mut memory, &dispatch).map_err(|e| e.to_string())?;
        let difference = match uses(kernel, is_inexact) {
            true => {
                let angles = uses(kernel, |math| matches!(math, Math::FastSin | Math::FastCos));
                trial.difference_beyond(&expected, &memory, |s, e| tolerance(s, e, angles))
            }
            false => trial.difference(&expected, &memory),
        };
        if let Some(difference) = difference {
            return Err(format!("seed {seed}: {difference}"));
        }
    }
    Ok(())
}

#[test]
fn every_kernel_leaves_what_the_interpreter_leaves() {
    if !present() {
        return;
    }
    let shapes = [Shape::QWEN3_TINY, Shape::QWEN2_TINY, Shape::LLAMA_TINY];
    let kernels = shapes
        .iter()
        .flat_map(|shape| catalogue::entries().flat_map(|entry| entry.kernels(shape)).collect::<Vec<_>>());
    let work = Mutex::new(kernels.collect::<Vec<_>>().into_iter());
    let (complaints, count) = (Mutex::new(Vec::new()), Mutex::new(0));
    // Compiling takes most of the time, and every thread can do it.
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get().min(16)) {
            scope.spawn(|| {
                let gpu = LanguageGpu::open(0).unwrap();
                loop {
                    let Some((name, kernel)) = work.lock().unwrap().next() else { return };
                    if let Err(complaint) = compare(&gpu, &verify(kernel).unwrap()) {
                        complaints.lock().unwrap().push(format!("{name}: {complaint}"));
                    }
                    *count.lock().unwrap() += 1;
                }
            });
        }
    });
    let complaints = complaints.into_inner().unwrap();
    eprintln!("{} kernels compared", count.into_inner().unwrap());
    assert!(complaints.is_empty(), "{complaints:#?}");
}
