//! The default model tells its reference stories. How likely its held-out text is in every format, the engine's
//! test `accuracy` says.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod common;

use common::{argmax, greedy, resident, stories};
use serde_json::Value;
use tilewright_backend::{Cancel, LogitSink, Resident};
use tilewright_cpu::CpuOptions;
use tilewright_model::{Checkpoint, WeightFormat};

fn reference() -> Value {
    serde_json::from_slice(&std::fs::read(stories("reference.json")).unwrap()).unwrap()
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

fn model(weights: WeightFormat) -> Box<dyn Resident> {
    let checkpoint = Checkpoint::open(&stories("")).unwrap();
    resident(&checkpoint, weights, CpuOptions::default())
}

#[test]
fn lossless_formats_tell_the_reference_stories() {
    for weights in [WeightFormat::F32, WeightFormat::Bf16] {
        let mut model = model(weights);
        let vocab = model.config().vocab;
        for story in reference()["greedy"].as_array().unwrap() {
            let (prompt, want) = (ids(&story["prompt_ids"]), ids(&story["ids"]));
            let sequence = model.create(prompt.len() + want.len()).unwrap();
            let mut logits = vec![0.0; vocab];
            model.prefill(sequence, &prompt, LogitSink::Last(&mut logits), &Cancel::default()).unwrap();
            let mut got = vec![argmax(&logits)];
            got.extend(greedy(&mut *model, sequence, logits, want.len()).into_iter().skip(1));
            assert_eq!(got, want, "{weights}: {}", story["prompt"]);
            model.release(sequence);
        }
    }
}
