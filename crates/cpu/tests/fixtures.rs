//! The device against stored float64 results, for every supported family.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod common;

use common::{FIXTURES, fixture, greedy, prefill_all, resident};
use safetensors::SafeTensors;
use tilewright_backend::KvFormat;
use tilewright_cpu::CpuOptions;
use tilewright_model::tolerance::{Observed, Tolerance, compare};
use tilewright_model::{Checkpoint, StoredType, WeightFormat};

/// The stored results of a fixture.
struct Stored {
    prompt: Vec<u32>,
    logits: Vec<f64>,
    keys: Vec<Vec<f64>>,
    values: Vec<Vec<f64>>,
    greedy: Vec<u32>,
    margins: Vec<f64>,
}

fn stored(name: &str, layers: usize) -> Stored {
    let bytes = std::fs::read(fixture(name).join("reference.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let words =
        |name: &str| -> Vec<[u8; 8]> { file.tensor(name).unwrap().data().as_chunks::<8>().0.to_vec() };
    let floats = |name: &str| words(name).into_iter().map(f64::from_le_bytes).collect::<Vec<f64>>();
    let ids =
        |name: &str| words(name).into_iter().map(|w| i64::from_le_bytes(w) as u32).collect::<Vec<u32>>();
    Stored {
        prompt: ids("prompt_ids"),
        logits: floats("logits"),
        keys: (0..layers).map(|l| floats(&format!("k.{l}"))).collect(),
        values: (0..layers).map(|l| floats(&format!("v.{l}"))).collect(),
        greedy: ids("greedy_ids"),
        margins: floats("margin"),
    }
}

/// Compares logits, keys, values and greedy ids; returns the largest errors of logits and of keys and values.
fn check(name: &str, weights: WeightFormat, kv: KvFormat) -> (Observed, Observed) {
    let checkpoint = Checkpoint::open(&fixture(name)).unwrap();
    let options = CpuOptions { kv: Some(kv), ..CpuOptions::default() };
    let mut model = resident(&checkpoint, weights, options);
    let (layers, vocab) = (checkpoint.config().layers, checkpoint.config().vocab);
    let stored = stored(name, layers);
    let (sequence, logits) = prefill_all(&mut *model, &stored.prompt);
    let what = |part: &str| format!("{name}, {weights} weights, {kv} cache: {part}");
    let seen = compare(&logits, &stored.logits, Tolerance::F32_STATE)
        .unwrap_or_else(|m| panic!("{}: {m}", what("logits")));
    let mut state = Observed::default();
    for layer in 0..layers {
        let (keys, values) = model.copy_kv(sequence, layer);
        for (part, got, want) in
            [("keys", keys, &stored.keys[layer]), ("values", values, &stored.values[layer])]
        {
            let seen = compare(&got, want, Tolerance::F32_STATE)
                .unwrap_or_else(|m| panic!("{} of layer {layer}: {m}", what(part)));
            state = state.merge(seen);
        }
    }
    let last = logits[logits.len() - vocab..].to_vec();
    let ids = greedy(&mut *model, sequence, last, stored.greedy.len());
    // After a step that the error can turn, the continuations are of different texts.
    let sure = stored.margins.iter().take_while(|m| **m > 2.0 * seen.max_abs).count();
    assert!(sure > 0, "{}", what("no step is certain"));
    assert_eq!(ids[..sure], stored.greedy[..sure], "{}", what("greedy ids"));
    (seen, state)
}

#[test]
fn f32_agrees_with_float64_on_every_family() {
    for name in FIXTURES {
        let (logits, state) = check(name, WeightFormat::F32, KvFormat::F32);
        eprintln!(
            "{name}: logits within {:.2e}, keys and values within {:.2e}",
            logits.max_abs, state.max_abs
        );
    }
}

#[test]
fn bf16_weights_agree_where_the_file_is_bf16() {
    let born_bf16 = FIXTURES.into_iter().filter(|name| {
        let checkpoint = Checkpoint::open(&fixture(name)).unwrap();
        checkpoint.parameters().embedding.stored == StoredType::Bf16
    });
    let mut checked = 0;
    for name in born_bf16 {
        let (logits, state) = check(name, WeightFormat::Bf16, KvFormat::F32);
        eprintln!(
            "{name}: logits within {:.2e}, keys and values within {:.2e}",
            logits.max_abs, state.max_abs
        );
        checked += 1;
    }
    assert!(checked >= 4);
}
