//! The persistent decoder on a GPU that it takes, on the shape of Qwen3-0.6B with few layers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test; what is skipped is said"
)]

mod common;

use std::time::Duration;

use common::{argmax, compare_kv, ids, prefill_all, present, resident, seeded, wide};
use tilewright_backend::{Cancel, Kernels, LogitSink, Resident, Step};
use tilewright_cuda::{CudaModel, CudaOptions};
use tilewright_gate::seeded::Preset;
use tilewright_model::tolerance::{Tolerance, compare};
use tilewright_model::{Checkpoint, Code, Config, Family};

/// Positions past which every worker attends to its own part only; the ids go well beyond.
const COUNT: usize = 300;

fn config() -> Config {
    Config { layers: 3, vocab: 4096, bos: Some(1), eos: vec![2], ..Preset::Qwen3Small.config() }
}

/// A model that decodes persistently, if the GPU allows it.
fn open(checkpoint: &Checkpoint, options: &CudaOptions) -> Option<CudaModel> {
    let model = resident(checkpoint, options);
    if matches!(model.plan().kernels, Kernels::Cuda { persistent: true, .. }) {
        return Some(model);
    }
    eprintln!("skipped: {:?}", model.plan().notes);
    None
}

/// Logits of every id, decoded one by one.
fn one_by_one(model: &mut CudaModel, ids: &[u32]) -> Vec<f32> {
    let sequence = model.create(ids.len()).unwrap();
    let vocab = model.config().vocab;
    let mut logits = vec![f32::NAN; ids.len() * vocab];
    for (token, logits) in ids.iter().zip(logits.chunks_mut(vocab)) {
        model.decode(&[Step { sequence, token: *token }], logits).unwrap();
    }
    logits
}

/// Decodes and compares with the plain path in f32: logits, keys and values.
fn agrees_with_f32(config: &Config, seed: u64) {
    let (_folder, checkpoint) = seeded(config, seed);
    let Some(mut model) = open(&checkpoint, &CudaOptions::default()) else { return };
    let ids = ids(COUNT, config.vocab);
    let exact = CudaOptions {
        weights: Some(tilewright_model::WeightFormat::F32),
        kv: Some(tilewright_backend::KvFormat::F32),
        ..CudaOptions::default()
    };
    let mut plain = resident(&checkpoint, &exact);
    let (truth, want) = prefill_all(&mut plain, &ids, COUNT);
    let got = one_by_one(&mut model, &ids);
    let seen = compare(&got, &wide(&want), Tolerance::BF16_STATE).unwrap_or_else(|m| panic!("logits: {m}"));
    eprintln!("logits within {:.2e} of f32 with an f32 cache", seen.max_abs);

    let sequence = model.create(COUNT).unwrap();
    model.prefill(sequence, &ids[..COUNT - 40], LogitSink::None, &Cancel::default()).unwrap();
    let mut logits = vec![f32::NAN; config.vocab];
    for token in &ids[COUNT - 40..] {
        model.decode(&[Step { sequence, token: *token }], &mut logits).unwrap();
    }
    compare(&logits, &wide(&want[(COUNT - 1) * config.vocab..]), Tolerance::BF16_STATE)
        .unwrap_or_else(|m| panic!("logits after a prompt of the plain path: {m}"));
    compare_kv((&model, sequence), (&plain, truth));
}

#[test]
fn logits_keys_and_values_agree_with_the_plain_path_in_f32() {
    if present() {
        agrees_with_f32(&config(), 11);
    }
}

/// Widths of Qwen3-1.7B and 4B, the latter with rows of zeros in the MLP, and those of an 8B model of the Llama family, its MLP
/// narrower.
#[test]
fn larger_shapes_agree_with_the_plain_path_in_f32() {
    if !present() {
        return;
    }
    let shape = |hidden, heads, intermediate| Config { hidden, heads, intermediate, ..config() };
    let llama = Config { qk_norm: false, family: Family::Llama, ..shape(4096, 32, 4096) };
    for (seed, config) in [shape(2048, 16, 6144), shape(2560, 32, 9728), llama].iter().enumerate() {
        agrees_with_f32(config, 21 + seed as u64);
    }
}

#[test]
fn int8_weights_give_the_logits_of_the_rounded_weights() {
    if !present() {
        return;
    }
    let config = config();
    let (_folder, checkpoint) = seeded(&config, 14);
    let options =
        CudaOptions { weights: Some(tilewright_model::WeightFormat::Int8), ..CudaOptions::default() };
    let Some(mut model) = open(&checkpoint, &options) else { return };
    let ids = ids(COUNT, config.vocab);
    // Prompts go through the rounded weights, held in bf16.
    let (_, want) = prefill_all(&mut model, &ids, COUNT);
    let want: Vec<f64> = want.iter().map(|v| f64::from(*v)).collect();
    let got = one_by_one(&mut model, &ids);
    let seen = compare(&got, &want, Tolerance::BF16_STATE).unwrap_or_else(|m| panic!("logits: {m}"));
    eprintln!("logits within {:.2e} of a prompt's", seen.max_abs);
    assert!(one_by_one(&mut model, &ids) == got, "two runs differ");
}

#[test]
#[ignore = "takes minutes without a fast GPU"]
fn twenty_thousand_tokens_and_ten_thousand_launches_repeat() {
    if !present() {
        return;
    }
    let config = config();
    let (_folder, checkpoint) = seeded(&config, 15);
    let Some(mut model) = open(&checkpoint, &CudaOptions::default()) else { return };
    let (count, launches) = (20_000, 10_000);
    let (one, many) = (model.create(count).unwrap(), model.create(count).unwrap());
    let run = model.run(one, 9, count, &[]).unwrap();
    let mut token = 9;
    for want in &run[..launches] {
        token = model.run(many, token, 1, &[]).unwrap()[0];
        assert_eq!(token, *want, "position {}", model.len(many));
    }
    let rest = model.run(many, token, count - launches, &[]).unwrap();
    assert_eq!(rest, run[launches..]);
}

#[test]
fn a_run_of_tokens_is_what_single_steps_choose_bit_for_bit() {
    if !present() {
        return;
    }
    let config = config();
    let (_folder, checkpoint) = seeded(&config, 12);
    let Some(mut model) = open(&checkpoint, &CudaOptions::default()) else { return };
    let sequence = model.create(COUNT + 8).unwrap();
    let run = model.run(sequence, 7, COUNT, &[]).unwrap();
    assert_eq!((run.len(), model.len(sequence)), (COUNT, COUNT));

    let fed: Vec<u32> = [7].into_iter().chain(run.iter().copied()).take(COUNT).collect();
    let logits = one_by_one(&mut model, &fed);
    let chosen: Vec<u32> = logits.chunks(config.vocab).map(argmax).collect();
    assert_eq!(chosen, run);
    assert!(one_by_one(&mut model, &fed) == logits, "two runs differ");

    // Again in pieces, from the middle, and up to an id that ends it.
    model.truncate(sequence, 100);
    let piece = model.run(sequence, run[99], 33, &[]).unwrap();
    assert_eq!(piece, run[100..133]);
    let end = run[150];
    let until = run[133..].iter().position(|id| *id == end).unwrap();
    let piece = model.run(sequence, run[132], 100, &[config.vocab as u32 + 1, end]).unwrap();
    assert_eq!(piece, run[133..=133 + until]);
    assert_eq!(model.len(sequence), 134 + until);
}

#[test]
fn a_worker_that_stays_away_is_a_named_error_and_no_hang() {
    if !present() {
        return;
    }
    let config = config();
    let (_folder, checkpoint) = seeded(&config, 13);
    let Some(mut model) = open(&checkpoint, &CudaOptions::default()) else { return };
    let (sequence, other) = (model.create(50).unwrap(), model.create(50).unwrap());
    let want = model.run(sequence, 3, 20, &[]).unwrap();
    for worker in [0, 77, 127] {
        model.inject_fault(Some((worker, Duration::from_millis(50))));
        let refusal = model.run(other, 3, 20, &[]).unwrap_err();
        assert_eq!(refusal.code(), Code::DeviceTimeout, "{refusal}");
        assert_eq!(model.len(other), 0);
        model.inject_fault(None);
        assert_eq!(model.run(other, 3, 20, &[]).unwrap(), want, "after the fault");
        model.truncate(other, 0);
    }
}
