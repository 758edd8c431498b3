//! The step whose launches overlap: against the float64 reference, and its own next token.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod common;

use common::session::{Loaded, Session};
use common::{FIXTURES, fixture, reference, shape, some_ids};
use tilewright_kernels::decode::overlap::{Step, fits, overlapped};
use tilewright_kernels::decode::{Goal, Options};
use tilewright_kernels::{Shape, catalogue};
use tilewright_model::Checkpoint;
use tilewright_model::tolerance::Tolerance;
use tilewright_tile::ir::Param;
use tilewright_tile::{Scalar, verify};

const TOKENS: usize = 9;

fn session(checkpoint: &Checkpoint, shape: Shape, options: Options, step: Step) -> Session {
    let pipeline = overlapped("overlap", &shape, &options, step).unwrap_or_else(|e| panic!("{e}"));
    Session::through(Loaded::new(checkpoint, &shape, options.weights), shape, options, pipeline)
}

#[test]
fn overlapped_decode_agrees_with_the_reference_on_every_fixture() {
    for name in FIXTURES {
        let checkpoint = fixture(name);
        let shape = shape(&checkpoint, TOKENS);
        assert!(fits(&shape), "{name}");
        let ids = some_ids(shape.vocab, TOKENS, 7);
        let mut session = session(&checkpoint, shape, Options::F32, Step::Logits);
        ids.iter().for_each(|&id| drop(session.step(&[id])));
        session.left(0).compare(&reference(&checkpoint).forward(&ids), Tolerance::F32_STATE, name);
    }
}

#[test]
fn narrow_weights_and_cache_stay_near_the_staged_step() {
    let checkpoint = fixture("qwen3-tiny");
    let shape = shape(&checkpoint, TOKENS);
    let ids = some_ids(shape.vocab, TOKENS, 5);
    for options in [Options::PAIRS, Options::INT8, Options::INT4] {
        let options = options.cache(Scalar::Bf16);
        let mut overlapped = session(&checkpoint, shape, options, Step::Logits);
        let loaded = Loaded::new(&checkpoint, &shape, options.weights);
        let mut staged = Session::of(loaded, shape, options, Goal::Logits);
        for &id in &ids {
            let (a, b) = (overlapped.step(&[id]), staged.step(&[id]));
            for (a, b) in a[0].iter().zip(&b[0]) {
                assert!((a - b).abs() <= 2e-2, "{options:?}: {a} and {b}");
            }
        }
    }
}

#[test]
fn a_step_gives_the_next_one_its_token_and_position() {
    let checkpoint = fixture("qwen3-tiny");
    let shape = shape(&checkpoint, TOKENS);
    let mut by_itself = session(&checkpoint, shape, Options::F32, Step::Token);
    let mut by_host = session(&checkpoint, shape, Options::F32, Step::Logits);
    let mut token = 5;
    let mut chosen = Vec::new();
    by_itself.step_at(&[(token, 0)]);
    for n in 0..TOKENS {
        let logits = by_host.step(&[token]).remove(0);
        token = (0..logits.len()).fold(0, |best, i| if logits[i] > logits[best] { i } else { best }) as u32;
        chosen.push(Some(token as i32));
        let memory = &by_itself.loaded.memory;
        assert_eq!(memory.read_i32(by_itself.loaded.buffers["ids"])[..=n], chosen);
        assert_eq!(
            memory.read_i32(by_itself.loaded.buffers["control"]),
            [Some(token as i32), Some(n as i32 + 1)]
        );
        by_itself.again();
    }
}

#[test]
fn launches_of_a_layer_read_weights_and_nothing_else_early() {
    let early = ["weights", "weights_scales"];
    let mut overlapping = 0;
    for entry in catalogue::entries().filter(|entry| entry.name.starts_with("overlap")) {
        // Wide enough that every lane has something to read ahead.
        for (name, kernel) in entry.kernels(&Shape::QWEN3_0_6B) {
            let kernel = verify(kernel).unwrap();
            for &param in kernel.params() {
                let Param::Buffer(buffer) = param else { continue };
                let is_weights = early.contains(&kernel.param_name(param));
                assert_eq!(
                    kernel.facts().is_early(buffer),
                    kernel.facts().begins_early() && is_weights,
                    "{name}"
                );
            }
            overlapping += usize::from(kernel.facts().begins_early());
        }
    }
    assert!(overlapping >= 20, "{overlapping}");
}

#[test]
fn five_launches_a_layer() {
    let launches = |step| {
        let pipeline = overlapped("count", &Shape::QWEN3_0_6B, &Options::PAIRS, step).unwrap();
        pipeline.verify().unwrap_or_else(|e| panic!("{e}")).dispatches()
    };
    assert_eq!(launches(Step::Logits), 1 + 5 * 28 + 1);
    assert_eq!(launches(Step::Token), 1 + 5 * 28 + 3);
}
