//! Dispatch budgets follow from the pipelines and are the published ones.

#![allow(clippy::panic, reason = "helpers of tests")]

use tilewright_kernels::decode::{Attention, Goal, Options, megakernel, products, staged};
use tilewright_kernels::shape::SAMPLES;
use tilewright_kernels::{Shape, catalogue};
use tilewright_tile::{Report, Scalar, verify};

fn dispatches(shape: &Shape, options: Options, goal: Goal) -> usize {
    let pipeline = staged("budget", shape, &options, goal).unwrap_or_else(|e| panic!("{e}"));
    pipeline.verify().unwrap_or_else(|e| panic!("{e}")).dispatches()
}

#[test]
fn the_published_model_takes_227_launches_to_logits_and_two_more_to_a_token() {
    let shape = Shape::QWEN3_0_6B;
    assert_eq!(dispatches(&shape, Options::F32, Goal::Cache), 225);
    assert_eq!(dispatches(&shape, Options::F32, Goal::Logits), 227);
    assert_eq!(dispatches(&shape, Options::F32, Goal::Token), 229);
}

#[test]
fn eight_launches_a_layer_at_every_shape_and_storage() {
    for sample in SAMPLES {
        let layers = sample.shape.layers as usize;
        let best = Goal::Best { count: 8 };
        for options in [Options::F32, Options::F16, Options::PAIRS, Options::INT8.sequences(2)] {
            for (goal, more) in [(Goal::Cache, 1), (Goal::Logits, 3), (Goal::Token, 5), (best, 5)] {
                assert_eq!(dispatches(&sample.shape, options, goal), 8 * layers + more, "{}", sample.name);
            }
        }
        let split = Options::F32.attention(Attention::SplitKeys { parts: 4 });
        assert_eq!(dispatches(&sample.shape, split, Goal::Logits), 9 * layers + 3);
    }
}

#[test]
fn the_vocabulary_takes_18_992_threadgroups_of_256_threads() {
    let kernel = products::vocabulary(&Shape::QWEN3_0_6B, &Options::F32);
    assert_eq!((kernel.launch().groups, kernel.launch().threads), ([18_992, 1, 1], 256));
}

#[test]
fn the_megakernel_is_one_threadgroup_with_24_kib_of_scratch() {
    let kernel = megakernel(&Shape::QWEN3_0_6B, Scalar::F32);
    assert_eq!(kernel.launch().groups, [1, 1, 1]);
    let one = megakernel::one_launch("one", &Shape::QWEN3_0_6B, Scalar::F32).unwrap();
    assert_eq!(one.verify().unwrap().dispatches(), 1);
    assert_eq!(kernel.shared_bytes(), 24 * 1024);
    let report = Report::new(&verify(kernel).unwrap_or_else(|e| panic!("{e}")));
    assert!(report.fast.is_empty());
}

#[test]
fn a_shape_too_wide_for_the_scratch_has_no_megakernel() {
    let wide = Shape { hidden: 4096, ..Shape::QWEN3_0_6B };
    let entry = catalogue::entries().find(|entry| entry.name == "decode_megakernel").unwrap();
    assert_eq!(entry.kernels(&wide).count(), 0);
    assert!(verify(megakernel(&wide, Scalar::F32)).is_err());
}
