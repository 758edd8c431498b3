//! Samples are what they stand for.

use super::*;
use std::path::Path;
use tilewright_model::Checkpoint;

/// Samples that stand for a checkpoint in the repository have its shape.
#[test]
fn samples_are_the_shapes_of_their_checkpoints() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (folder, sample) in [
        ("model/tests/fixtures/qwen3-tiny", Shape::QWEN3_TINY),
        ("model/tests/fixtures/qwen2-bias", Shape::QWEN2_TINY),
        ("model/tests/fixtures/llama-d64-odd-heads", Shape::LLAMA_TINY),
        ("../models/stories-qwen3", Shape::STORIES),
    ] {
        let checkpoint = Checkpoint::open(&crates.join(folder)).unwrap();
        assert_eq!(Shape::new(checkpoint.config(), sample.capacity), sample, "{folder}");
    }
}

#[test]
fn widths_of_the_published_model_are_the_published_ones() {
    let shape = Shape::QWEN3_0_6B;
    assert_eq!((shape.q_width(), shape.kv_width(), shape.qkv_width(), shape.group()), (2048, 1024, 4096, 2));
}
