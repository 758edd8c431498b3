//! The megakernel: one launch from token id to logits.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests; what was observed is shown"
)]

mod common;

use std::sync::Arc;

use common::session::{Loaded, valid};
use common::{FIXTURES, Left, fixture, reference, shape, some_ids};
use tilewright_kernels::decode::megakernel::one_launch;
use tilewright_kernels::{Format, Shape};
use tilewright_model::Checkpoint;
use tilewright_model::tolerance::Tolerance;
use tilewright_tile::interp::Memory;
use tilewright_tile::pipeline::Runner;
use tilewright_tile::{Literal, Scalar};

/// Decodes `ids`, one launch each; everything in memory is `storage`.
fn decode(checkpoint: &Checkpoint, shape: Shape, storage: Scalar, ids: &[u32]) -> Left {
    let Loaded { mut memory, buffers } = Loaded::new(checkpoint, &shape, Format::Float(storage));
    let pipeline = one_launch("one", &shape, storage).unwrap_or_else(|e| panic!("{e}"));
    let pipeline = Arc::new(pipeline.verify().unwrap_or_else(|e| panic!("{e}")));
    let mut runner = Runner::new(&pipeline, &mut memory, |name| buffers.get(name).copied());
    let read =
        |memory: &Memory, runner: &Runner, name| memory.read_f32(runner.buffer(name).unwrap(), storage);
    let mut logits = Vec::new();
    for (position, &token) in (0..).zip(ids) {
        let arguments = [("token", Literal::I32(token as i32)), ("position", Literal::I32(position))];
        runner.run(&mut memory, &arguments).unwrap_or_else(|fault| panic!("{fault}"));
        logits.extend(read(&memory, &runner, "logits"));
    }
    let cache = |name| valid(&read(&memory, &runner, name), &shape, 1, 0, ids.len());
    Left { logits, keys: cache("keys"), values: cache("values") }
}

#[test]
fn the_megakernel_agrees_with_the_reference_on_every_fixture() {
    for name in FIXTURES {
        let checkpoint = fixture(name);
        let shape = shape(&checkpoint, 6);
        let ids = some_ids(shape.vocab, 6, 3);
        let run = reference(&checkpoint).forward(&ids);
        let left = decode(&checkpoint, shape, Scalar::F32, &ids);
        let (logits, cache) = left.compare(&run, Tolerance::F32_STATE, name);
        eprintln!("{name}: largest error of logits {:e}, of the cache {:e}", logits.max_abs, cache.max_abs);
    }
}

#[test]
fn narrow_megakernels_stay_within_their_tolerances() {
    for (storage, tolerance) in [(Scalar::F16, Tolerance::F16_STATE), (Scalar::Bf16, Tolerance::BF16_STATE)] {
        for name in ["qwen3-tiny", "qwen2-bias"] {
            let checkpoint = fixture(name);
            let shape = shape(&checkpoint, 5);
            let ids = some_ids(shape.vocab, 5, 3);
            let run = reference(&checkpoint).forward(&ids);
            let what = format!("{name}, {storage}");
            let (logits, cache) = decode(&checkpoint, shape, storage, &ids).compare(&run, tolerance, &what);
            eprintln!(
                "{what}: largest error of logits {:e}, of the cache {:e}",
                logits.max_abs, cache.max_abs
            );
        }
    }
}
