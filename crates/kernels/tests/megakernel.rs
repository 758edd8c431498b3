//! The megakernel: one launch from token id to logits.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests; what was observed is shown"
)]

mod common;

use common::session::{Loaded, valid};
use common::{FIXTURES, Left, fixture, reference, shape, some_ids};
use tilewright_kernels::decode::megakernel;
use tilewright_kernels::{Format, Shape};
use tilewright_model::Checkpoint;
use tilewright_model::tolerance::Tolerance;
use tilewright_tile::interp::{Bound, BufferId, Dispatch, Program, run};
use tilewright_tile::ir::Param;
use tilewright_tile::{Literal, Scalar, verify};

/// Decodes `ids`, one launch each; everything in memory is `storage`.
fn decode(checkpoint: &Checkpoint, shape: Shape, storage: Scalar, ids: &[u32]) -> Left {
    let Loaded { mut memory, mut buffers } = Loaded::new(checkpoint, &shape, Format::Float(storage));
    let kernel = verify(megakernel(&shape, storage)).unwrap_or_else(|e| panic!("{e}"));
    let cache = (shape.layers * shape.kv_width() * shape.capacity * storage.bytes()) as usize;
    for (name, bytes) in
        [("keys", cache), ("values", cache), ("logits", (shape.vocab * storage.bytes()) as usize)]
    {
        buffers.insert(name.to_owned(), memory.poison(bytes));
    }
    let program = Program::new(&kernel);
    let mut logits = Vec::new();
    for (position, &token) in (0..).zip(ids) {
        let bound: Vec<Bound> = kernel
            .params()
            .iter()
            .map(|&param| match (param, kernel.param_name(param)) {
                (Param::Argument(_), "token") => Bound::Scalar(Literal::I32(token as i32)),
                (Param::Argument(_), _) => Bound::Scalar(Literal::I32(position)),
                (Param::Buffer(_), name) => Bound::Buffer(memory.whole(buffers[name])),
            })
            .collect();
        let dispatch = Dispatch { groups: [1, 1, 1], bound: &bound };
        run(&program, &mut memory, &dispatch).unwrap_or_else(|fault| panic!("{fault}"));
        logits.extend(memory.read_f32(buffers["logits"], storage));
    }
    let cache = |buffer: BufferId| valid(&memory.read_f32(buffer, storage), &shape, 1, 0, ids.len());
    Left { logits, keys: cache(buffers["keys"]), values: cache(buffers["values"]) }
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
