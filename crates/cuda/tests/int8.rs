//! Weights of 8 bits on the paths that every GPU has: against float64 on what the codes stand for.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test; what is skipped is said"
)]

mod common;

use common::{FIXTURES, argmax, fixture, ids, prefill_all, present, resident, rounded, seeded};
use tilewright_backend::{Cancel, Kernels, KvFormat, LogitSink, Resident, Sequence, Step};
use tilewright_cuda::{CudaModel, CudaOptions};
use tilewright_gate::seeded::{Preset, small};
use tilewright_model::tolerance::{Tolerance, compare};
use tilewright_model::{Checkpoint, Config, Family, WeightFormat};

const PROMPT: usize = 40;
const TOKENS: usize = 60;

/// In int8 without the persistent decoder, with or without launches that overlap.
fn open(checkpoint: &Checkpoint, kv: KvFormat, overlap: bool, options: CudaOptions) -> CudaModel {
    let options = CudaOptions {
        weights: Some(WeightFormat::Int8),
        kv: Some(kv),
        persistent: Some(false),
        overlap: Some(overlap),
        ..options
    };
    let model = resident(checkpoint, &options);
    let plan = model.plan();
    assert_eq!(plan.weights, WeightFormat::Int8);
    assert!(matches!(plan.kernels, Kernels::Cuda { overlap: is, .. } if is == overlap), "{:?}", plan.notes);
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

/// A prompt in chunks, then steps of one sequence, then of two, against float64 on the rounded weights.
fn agrees(name: &str, checkpoint: &Checkpoint, kv: KvFormat, tolerance: Tolerance, options: CudaOptions) {
    let config = checkpoint.config();
    let ids = ids(TOKENS, config.vocab);
    let truth = rounded(checkpoint).forward(&ids);
    for overlap in [true, false] {
        let what = format!("{name}, overlap {overlap}");
        let mut model = open(checkpoint, kv, overlap, options.clone());
        let near = |part: &str, got: &[f32], want: &[f64]| {
            compare(got, want, tolerance).unwrap_or_else(|m| panic!("{what}: {part}: {m}"))
        };
        let (one, mut got) = prefill_all(&mut model, &ids[..PROMPT], TOKENS);
        got.extend(alone(&mut model, one, &ids[PROMPT..TOKENS - 8]));
        let (two, _) = prefill_all(&mut model, &ids[..TOKENS - 8], TOKENS);
        for &token in &ids[TOKENS - 8..] {
            let mut both = vec![f32::NAN; 2 * config.vocab];
            let steps = [one, two].map(|sequence| Step { sequence, token });
            model.decode(&steps, &mut both).unwrap();
            got.extend(&both[..config.vocab]);
        }
        let seen = near("logits", &got, &truth.logits);
        for layer in 0..config.layers {
            let (keys, values) = model.copy_kv(one, layer);
            near(&format!("keys of layer {layer}"), &keys, &truth.k[layer]);
            near(&format!("values of layer {layer}"), &values, &truth.v[layer]);
        }
        eprintln!("{what}: {}: logits within {:.2e}", model.plan().kernels, seen.max_abs);
    }
}

#[test]
fn every_fixture_gives_the_logits_keys_and_values_of_the_rounded_weights() {
    if !present() {
        return;
    }
    for name in FIXTURES {
        let checkpoint = Checkpoint::open(&fixture(name)).unwrap();
        let options = CudaOptions { prefill_chunk: Some(13), ..CudaOptions::default() };
        agrees(name, &checkpoint, KvFormat::F32, Tolerance::F32_STATE, options);
    }
}

/// Groups of 128 columns with a shorter one after them, widths that fours do not divide, and heads of 48 dims.
#[test]
fn widths_of_every_kind_are_served() {
    if !present() {
        return;
    }
    let groups = Config { hidden: 224, intermediate: 352, vocab: 301, ..small(Family::Qwen3) };
    let odd = Config { hidden: 96, intermediate: 160, vocab: 300, tied: false, ..small(Family::Llama) };
    let heads = Config { heads: 6, kv_heads: 3, head_dim: 48, ..small(Family::Qwen2) };
    for (seed, config) in [groups, odd, heads].into_iter().enumerate() {
        let (_folder, checkpoint) = seeded(&config, 31 + seed as u64);
        let options = CudaOptions::default();
        agrees(&format!("{seed}"), &checkpoint, KvFormat::F32, Tolerance::F32_STATE, options);
    }
}

/// The kernels for Hopper read what codes stand for in bf16, single sequences the codes.
#[test]
fn prompts_on_hopper_and_single_steps_have_the_same_weights() {
    if !present() {
        return;
    }
    let half = Config {
        head_dim: 64,
        heads: 6,
        kv_heads: 2,
        hidden: 224,
        intermediate: 352,
        vocab: 300,
        ..small(Family::Qwen2)
    };
    let whole = Config { layers: 3, vocab: 4096, bos: Some(1), eos: vec![2], ..Preset::Qwen3Small.config() };
    for (seed, config) in [half, whole].into_iter().enumerate() {
        let (_folder, checkpoint) = seeded(&config, 41 + seed as u64);
        let options = CudaOptions { hopper: Some(true), ..CudaOptions::default() };
        agrees(&format!("hopper {seed}"), &checkpoint, KvFormat::Bf16, Tolerance::BF16_STATE, options);
    }
}

/// Rows that join one after another, through whatever decodes so many; on Hopper one kernel for 8, one for 16 and one for 32.
#[test]
fn several_sequences_at_once_have_the_logits_of_the_rounded_weights() {
    if !present() {
        return;
    }
    let config = Config { layers: 3, vocab: 4096, bos: Some(1), eos: vec![2], ..Preset::Qwen3Small.config() };
    let (_folder, checkpoint) = seeded(&config, 47);
    let options = CudaOptions { weights: Some(WeightFormat::Int8), ..CudaOptions::default() };
    let mut model = resident(&checkpoint, &options);
    let (ids, vocab) = (ids(TOKENS, config.vocab), config.vocab);
    let truth = rounded(&checkpoint).forward(&ids);
    let mut most = 0f32;
    for count in [2, 7, 12, 32] {
        let rows: Vec<Sequence> = (0..count).map(|_| model.create(TOKENS).unwrap()).collect();
        for turn in 0..TOKENS + count {
            let live: Vec<(Sequence, usize)> =
                rows.iter().enumerate().filter_map(|(row, s)| Some((*s, turn.checked_sub(row)?))).collect();
            let live: Vec<(Sequence, usize)> = live.into_iter().filter(|(_, at)| *at < TOKENS).collect();
            let steps: Vec<Step> =
                live.iter().map(|(sequence, at)| Step { sequence: *sequence, token: ids[*at] }).collect();
            // One alone is decoded by another kernel.
            if steps.is_empty() {
                continue;
            }
            let mut logits = vec![f32::NAN; steps.len() * vocab];
            model.decode(&steps, &mut logits).unwrap();
            for ((_, at), logits) in live.iter().zip(logits.chunks(vocab)) {
                let want = &truth.logits[at * vocab..][..vocab];
                let seen = compare(logits, want, Tolerance::BF16_STATE)
                    .unwrap_or_else(|m| panic!("{count} rows, position {at}: {m}"));
                most = most.max(seen.max_abs as f32);
            }
        }
        rows.into_iter().for_each(|s| model.release(s));
    }
    eprintln!("{}: logits within {most:.2e}", model.plan().kernels);
}

#[test]
fn greedy_ids_are_those_of_the_rounded_weights() {
    if !present() {
        return;
    }
    for name in FIXTURES {
        let checkpoint = Checkpoint::open(&fixture(name)).unwrap();
        let vocab = checkpoint.config().vocab;
        let prompt = ids(8, vocab);
        let reference = rounded(&checkpoint);
        let (want, truth) = (reference.greedy(&prompt, 16), reference.forward(&prompt).logits);
        for overlap in [true, false] {
            let mut model = open(&checkpoint, KvFormat::F32, overlap, CudaOptions::default());
            let (sequence, logits) = prefill_all(&mut model, &prompt, 40);
            let seen =
                compare(&logits, &truth, Tolerance::F32_STATE).unwrap_or_else(|m| panic!("{name}: {m}"));
            let first = argmax(&logits[logits.len() - vocab..]);
            let mut got = vec![first];
            got.extend(model.run(sequence, first, want.ids.len() - 1, &[]).unwrap());
            let sure = want.margins.iter().take_while(|margin| **margin > 4.0 * seen.max_abs).count();
            assert!(sure > 0, "{name}: no step is certain");
            assert_eq!(got[..sure], want.ids[..sure], "{name}, overlap {overlap}");
        }
    }
}

#[test]
fn bits_depend_on_no_chunk_no_mate_and_no_earlier_use() {
    if !present() {
        return;
    }
    let config = Config { heads: 6, kv_heads: 3, hidden: 224, vocab: 300, ..small(Family::Qwen2) };
    let (_folder, checkpoint) = seeded(&config, 51);
    let (ids, vocab) = (ids(150, config.vocab), config.vocab);
    let chunked = |chunk| CudaOptions { prefill_chunk: Some(chunk), ..CudaOptions::default() };
    let (_, want) = prefill_all(&mut open(&checkpoint, KvFormat::Bf16, false, chunked(512)), &ids, 200);
    for chunk in [1, 3, 64, 100] {
        let (_, got) = prefill_all(&mut open(&checkpoint, KvFormat::Bf16, false, chunked(chunk)), &ids, 200);
        assert!(got == want, "chunks of {chunk}");
    }
    // Three sequences at different places in each step.
    let mut model = open(&checkpoint, KvFormat::Bf16, false, chunked(16));
    let starts = [0usize, 40, 97];
    let sequences = starts.map(|start| {
        let sequence = model.create(200).unwrap();
        model.prefill(sequence, &ids[..start], LogitSink::None, &Cancel::default()).unwrap();
        sequence
    });
    let mut logits = vec![f32::NAN; 3 * vocab];
    for step in 0..40 {
        let steps = [0, 1, 2].map(|n| Step { sequence: sequences[n], token: ids[starts[n] + step] });
        model.decode(&steps, &mut logits).unwrap();
        for (row, start) in starts.iter().enumerate() {
            let want = &want[(start + step) * vocab..][..vocab];
            assert!(&logits[row * vocab..][..vocab] == want, "row {row} of step {step}");
        }
    }
    // Launches that overlap repeat: on a cache that was used, after other sequences, and left to the device.
    let mut model = open(&checkpoint, KvFormat::Bf16, true, chunked(512));
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
