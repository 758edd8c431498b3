//! The default model: greedy stories and the negative log likelihood of its held-out text.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod common;

use common::{argmax, greedy, resident, stories};
use serde_json::Value;
use tilewright_backend::{Cancel, LogitSink, Resident};
use tilewright_cpu::CpuOptions;
use tilewright_model::tolerance::Tolerance;
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

/// Mean negative log likelihood in nats of each id given those before it in its window.
fn nll(model: &mut dyn Resident, ids: &[u32], window: usize) -> f64 {
    let mut sum = 0.0;
    for start in (0..ids.len() - 1).step_by(window) {
        let targets = &ids[start + 1..ids.len().min(start + window + 1)];
        let sequence = model.create(targets.len()).unwrap();
        let mut each = |row: usize, logits: &[f32]| {
            let most = logits.iter().copied().fold(f32::MIN, f32::max);
            let total: f64 = logits.iter().map(|l| f64::from(l - most).exp()).sum();
            sum += total.ln() - f64::from(logits[targets[row] as usize] - most);
        };
        let given = &ids[start..start + targets.len()];
        model.prefill(sequence, given, LogitSink::Each(&mut each), &Cancel::default()).unwrap();
        model.release(sequence);
    }
    sum / (ids.len() - 1) as f64
}

#[test]
fn held_out_text_is_as_likely_as_the_formats_promise() {
    let reference = reference();
    let ids = ids(&reference["heldout"]["ids"]);
    let window = reference["heldout"]["window"].as_u64().unwrap() as usize;
    let want = reference["heldout"]["nll_per_token"].as_f64().unwrap();
    for (weights, tolerance) in [
        (WeightFormat::F32, Tolerance::F32_NLL),
        (WeightFormat::Bf16, Tolerance::F32_NLL),
        (WeightFormat::Int8, Tolerance::INT8_NLL_RISE),
        (WeightFormat::Int4, Tolerance::INT4_NLL_RISE),
    ] {
        let rise = nll(&mut *model(weights), &ids, window) - want;
        eprintln!("{weights}: nll {want:.6} {rise:+.6}");
        assert!(rise <= tolerance.atol, "{weights}: nll rises by {rise}");
        if tolerance == Tolerance::F32_NLL {
            assert!(rise >= -tolerance.atol, "{weights}: nll falls by {rise}");
        }
    }
}
