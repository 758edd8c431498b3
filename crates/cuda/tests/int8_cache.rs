//! Keys and values of 8 bits: against float64, and bits that depend on nothing beside a row.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test; what is skipped is said"
)]

mod common;

use common::{FIXTURES, argmax, fixture, ids, prefill_all, present, resident, rounded, scaled, seeded};
use tilewright_backend::{Cancel, Kernels, KvFormat, LogitSink, Resident, Sequence, Step};
use tilewright_cuda::{CudaModel, CudaOptions};
use tilewright_gate::seeded::small;
use tilewright_model::reference::Reference;
use tilewright_model::tolerance::Tolerance;
use tilewright_model::{Checkpoint, Config, Family, WeightFormat};

const TOKENS: usize = 150;

/// With an 8-bit cache, with or without launches that overlap.
fn open(checkpoint: &Checkpoint, weights: WeightFormat, overlap: bool, chunk: usize) -> CudaModel {
    let options = CudaOptions {
        weights: Some(weights),
        kv: Some(KvFormat::Int8),
        overlap: Some(overlap),
        prefill_chunk: Some(chunk),
        ..CudaOptions::default()
    };
    let model = resident(checkpoint, &options);
    let plan = model.plan();
    assert_eq!(plan.kv, KvFormat::Int8);
    let as_asked =
        matches!(plan.kernels, Kernels::Cuda { overlap: is, persistent: false, .. } if is == overlap);
    assert!(as_asked, "{:?}", plan.notes);
    model
}

/// Logits of `ids`, appended one by one.
fn alone(model: &mut CudaModel, sequence: Sequence, ids: &[u32]) -> Vec<f32> {
    let mut all = Vec::new();
    for &token in ids {
        let mut logits = vec![f32::NAN; model.config().vocab];
        model.decode(&[Step { sequence, token }], &mut logits).unwrap();
        all.extend(logits);
    }
    all
}

/// A prompt, then single steps, on every fixture.
fn agrees(weights: WeightFormat) {
    for name in FIXTURES {
        let checkpoint = Checkpoint::open(&fixture(name)).unwrap();
        let config = checkpoint.config();
        let ids = ids(TOKENS, config.vocab);
        let reference = match weights {
            WeightFormat::Int8 => rounded(&checkpoint),
            _ => Reference::new(&checkpoint).unwrap(),
        };
        let truth = reference.forward(&ids);
        for overlap in [true, false] {
            let what = format!("{name}, {weights}, overlap {overlap}");
            let mut model = open(&checkpoint, weights, overlap, 37);
            let (sequence, mut got) = prefill_all(&mut model, &ids[..TOKENS / 2], TOKENS);
            got.extend(alone(&mut model, sequence, &ids[TOKENS / 2..]));
            let logits = scaled(&got, &truth.logits, Tolerance::INT8_CACHE, &format!("{what}: logits"));
            let mut most = 0f64;
            for layer in 0..config.layers {
                let (keys, values) = model.copy_kv(sequence, layer);
                for (part, got, want) in [("keys", keys, &truth.k), ("values", values, &truth.v)] {
                    let what = format!("{what}: {part} of layer {layer}");
                    most = most.max(scaled(&got, &want[layer], Tolerance::INT8_CACHE, &what));
                }
            }
            eprintln!("{what}: logits within {logits:.4} rms, keys and values within {most:.4}");
        }
    }
}

#[test]
fn every_fixture_stays_within_what_rounding_keys_and_values_costs() {
    if present() {
        agrees(WeightFormat::F32);
    }
}

#[test]
fn int8_weights_and_an_int8_cache_go_together() {
    if present() {
        agrees(WeightFormat::Int8);
    }
}

#[test]
fn bits_depend_on_no_chunk_no_mate_and_no_earlier_use() {
    if !present() {
        return;
    }
    let config = Config { heads: 6, kv_heads: 3, vocab: 300, head_dim: 48, ..small(Family::Qwen2) };
    let (_folder, checkpoint) = seeded(&config, 61);
    let (ids, vocab) = (ids(TOKENS, config.vocab), config.vocab);
    let (mut whole, weights) = (open(&checkpoint, WeightFormat::Bf16, false, 512), WeightFormat::Bf16);
    let (one, want) = prefill_all(&mut whole, &ids, 200);
    for chunk in [1, 3, 64] {
        let mut model = open(&checkpoint, weights, false, chunk);
        let (other, got) = prefill_all(&mut model, &ids, 200);
        assert!(got == want, "chunks of {chunk}");
        for layer in 0..config.layers {
            assert!(model.copy_kv(other, layer) == whole.copy_kv(one, layer), "chunks of {chunk}: {layer}");
        }
    }
    // Three sequences at different places in each step.
    let starts = [0usize, 40, 97];
    let sequences = starts.map(|start| {
        let sequence = whole.create(200).unwrap();
        whole.prefill(sequence, &ids[..start], LogitSink::None, &Cancel::default()).unwrap();
        sequence
    });
    let mut logits = vec![f32::NAN; 3 * vocab];
    for step in 0..40 {
        let steps = [0, 1, 2].map(|n| Step { sequence: sequences[n], token: ids[starts[n] + step] });
        whole.decode(&steps, &mut logits).unwrap();
        for (row, start) in starts.iter().enumerate() {
            let want = &want[(start + step) * vocab..][..vocab];
            assert!(&logits[row * vocab..][..vocab] == want, "row {row} of step {step}");
        }
    }
    // Launches that overlap repeat: on a cache that was used, after a longer sequence, and left to the device.
    let mut model = open(&checkpoint, weights, true, 512);
    let (sequence, _) = prefill_all(&mut model, &ids[..50], 200);
    let want = alone(&mut model, sequence, &ids[50..90]);
    let (other, _) = prefill_all(&mut model, &ids[30..100], 700);
    alone(&mut model, other, &ids[..20]);
    model.truncate(sequence, 50);
    assert!(alone(&mut model, sequence, &ids[50..90]) == want, "a second time");
    let run = model.run(sequence, ids[90], 30, &[]).unwrap();
    model.truncate(sequence, 90);
    let fed: Vec<u32> = [ids[90]].into_iter().chain(run.iter().copied()).take(30).collect();
    let chosen: Vec<u32> = alone(&mut model, sequence, &fed).chunks(vocab).map(argmax).collect();
    assert_eq!(chosen, run);
}

/// Wherever the reference is surer than the error can be.
#[test]
fn greedy_ids_are_the_references() {
    if !present() {
        return;
    }
    let mut steps = 0;
    for name in FIXTURES {
        let checkpoint = Checkpoint::open(&fixture(name)).unwrap();
        let vocab = checkpoint.config().vocab;
        let prompt = ids(24, vocab);
        let reference = Reference::new(&checkpoint).unwrap();
        let (want, truth) = (reference.greedy(&prompt, 16), reference.forward(&prompt).logits);
        for overlap in [true, false] {
            let mut model = open(&checkpoint, WeightFormat::F32, overlap, 512);
            let (sequence, logits) = prefill_all(&mut model, &prompt, 60);
            let error =
                logits.iter().zip(&truth).fold(0f64, |most, (a, b)| most.max((f64::from(*a) - b).abs()));
            let first = argmax(&logits[logits.len() - vocab..]);
            let mut got = vec![first];
            got.extend(model.run(sequence, first, want.ids.len() - 1, &[]).unwrap());
            let sure = want.margins.iter().take_while(|margin| **margin > 2.0 * error).count();
            assert_eq!(got[..sure], want.ids[..sure], "{name}, overlap {overlap}");
            steps += sure;
        }
    }
    assert!(steps > 0, "no step of any fixture is certain");
    eprintln!("{steps} certain steps");
}
