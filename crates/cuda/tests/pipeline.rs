//! Single sequences in launches that overlap: against float64, against their own single steps and against the other path.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test"
)]

mod common;

use common::{FIXTURES, argmax, fixture, ids, prefill_all, present, resident, seeded, wide};
use tilewright_backend::{Cancel, Kernels, KvFormat, LogitSink, Resident, Sequence, Step};
use tilewright_cuda::{CudaModel, CudaOptions};
use tilewright_gate::seeded::{Preset, small};
use tilewright_model::reference::Reference;
use tilewright_model::tolerance::{Tolerance, compare};
use tilewright_model::{Checkpoint, Config, Family, WeightFormat};

const TOKENS: usize = 24;

/// Opens in `weights`, the cache likewise, with or without such launches.
fn open(checkpoint: &Checkpoint, weights: WeightFormat, hopper: bool, overlap: bool) -> CudaModel {
    let kv = if weights == WeightFormat::F32 { KvFormat::F32 } else { KvFormat::Bf16 };
    let options = CudaOptions {
        weights: Some(weights),
        kv: Some(kv),
        persistent: Some(false),
        hopper: Some(hopper),
        overlap: Some(overlap),
        ..CudaOptions::default()
    };
    let model = resident(checkpoint, &options);
    let is = matches!(model.plan().kernels, Kernels::Cuda { overlap: true, .. });
    assert_eq!(is, overlap, "{:?}", model.plan().notes);
    model
}

fn prompt(model: &mut CudaModel, ids: &[u32], room: usize) -> Sequence {
    let sequence = model.create(room).unwrap();
    model.prefill(sequence, ids, LogitSink::None, &Cancel::default()).unwrap();
    sequence
}

/// Logits of `ids`, appended one by one.
fn alone(model: &mut CudaModel, sequence: Sequence, ids: &[u32]) -> Vec<f32> {
    let vocab = model.config().vocab;
    let mut all = Vec::new();
    for &token in ids {
        let mut logits = vec![f32::NAN; vocab];
        model.decode(&[Step { sequence, token }], &mut logits).unwrap();
        all.extend(logits);
    }
    all
}

#[test]
fn overlapping_launches_agree_with_float64_on_every_fixture() {
    if !present() {
        return;
    }
    for name in FIXTURES {
        let checkpoint = Checkpoint::open(&fixture(name)).unwrap();
        let config = checkpoint.config();
        let ids: Vec<u32> = (0..TOKENS as u32).map(|i| (i * 37 + 11) % config.vocab as u32).collect();
        let truth = Reference::new(&checkpoint).unwrap().forward(&ids);
        let mut model = open(&checkpoint, WeightFormat::F32, false, true);
        let sequence = model.create(TOKENS).unwrap();
        let got = alone(&mut model, sequence, &ids);
        let seen =
            compare(&got, &truth.logits, Tolerance::F32_STATE).unwrap_or_else(|m| panic!("{name}: {m}"));
        for layer in 0..config.layers {
            let (keys, values) = model.copy_kv(sequence, layer);
            for (part, got, want) in [("keys", keys, &truth.k), ("values", values, &truth.v)] {
                compare(&got, &want[layer], Tolerance::F32_STATE)
                    .unwrap_or_else(|m| panic!("{name}: {part} of layer {layer}: {m}"));
            }
        }
        eprintln!("{name}: largest error of logits {:e}", seen.max_abs);
    }
}

#[test]
fn many_steps_at_once_choose_what_single_steps_choose() {
    if !present() {
        return;
    }
    let checkpoint = Checkpoint::open(&fixture("qwen3-tiny")).unwrap();
    let mut model = open(&checkpoint, WeightFormat::F32, false, true);
    let sequence = model.create(256).unwrap();
    let (mut token, mut expected) = (5, Vec::new());
    for _ in 0..200 {
        token = argmax(&alone(&mut model, sequence, &[token]));
        expected.push(token);
    }
    // Whatever a launch of one step might see of the step before or after it, it would see here.
    for _ in 0..20 {
        model.truncate(sequence, 0);
        assert_eq!(model.greedy(sequence, 5, 200, &[]).unwrap(), expected);
        assert_eq!(model.len(sequence), 200);
    }
    model.truncate(sequence, 0);
    let end = expected.iter().position(|id| *id == expected[60]).unwrap();
    assert_eq!(model.greedy(sequence, 5, 200, &[expected[60]]).unwrap(), expected[..=end]);
    assert_eq!(model.run(sequence, expected[end], 20, &[]).unwrap(), expected[end + 1..][..20]);
}

/// A prompt, then steps alone, then beside another, then alone again, while a second sequence takes turns.
fn mixed(model: &mut CudaModel, ids: &[u32]) -> (Sequence, Vec<f32>) {
    let vocab = model.config().vocab;
    let sequence = prompt(model, &ids[..150], 300);
    let other = prompt(model, &ids[..40], 700);
    let mut all = alone(model, sequence, &ids[150..170]);
    for at in 170..200 {
        let steps =
            [(sequence, ids[at]), (other, ids[at - 100])].map(|(sequence, token)| Step { sequence, token });
        let mut logits = vec![f32::NAN; 2 * vocab];
        model.decode(&steps, &mut logits).unwrap();
        all.extend(&logits[..vocab]);
        all.extend(alone(model, other, &ids[at - 99..at - 98]));
        model.truncate(other, model.len(other) - 1);
    }
    model.prefill(sequence, &ids[200..207], LogitSink::None, &Cancel::default()).unwrap();
    all.extend(alone(model, sequence, &ids[207..240]));
    (sequence, all)
}

#[test]
fn prompts_batches_and_single_steps_share_a_cache() {
    if !present() {
        return;
    }
    let ragged = Config { heads: 6, kv_heads: 3, vocab: 300, head_dim: 48, ..small(Family::Qwen2) };
    let half =
        Config { head_dim: 64, heads: 6, kv_heads: 2, hidden: 224, intermediate: 352, ..ragged.clone() };
    let whole = Config { layers: 3, vocab: 4096, bos: Some(1), eos: vec![2], ..Preset::Qwen3Small.config() };
    let cases = [
        (ragged, WeightFormat::F32, false, Tolerance::F32_STATE),
        (half.clone(), WeightFormat::F32, false, Tolerance::F32_STATE),
        (half, WeightFormat::Bf16, true, Tolerance::BF16_STATE),
        (whole.clone(), WeightFormat::Bf16, true, Tolerance::BF16_STATE),
        (whole, WeightFormat::Bf16, false, Tolerance::BF16_STATE),
    ];
    for (seed, (config, weights, hopper, tolerance)) in cases.into_iter().enumerate() {
        let (_folder, checkpoint) = seeded(&config, 71 + seed as u64);
        let mut overlapping = open(&checkpoint, weights, hopper, true);
        let mut staged = open(&checkpoint, weights, false, false);
        let ids = ids(300, config.vocab);
        let ((one, got), (other, want)) = (mixed(&mut overlapping, &ids), mixed(&mut staged, &ids));
        let seen = compare(&got, &wide(&want), tolerance).unwrap_or_else(|m| panic!("{seed}: logits: {m}"));
        for layer in 0..config.layers {
            let (keys, values) = overlapping.copy_kv(one, layer);
            let (want_keys, want_values) = staged.copy_kv(other, layer);
            for (got, want) in [(keys, want_keys), (values, want_values)] {
                compare(&got, &wide(&want), tolerance)
                    .unwrap_or_else(|m| panic!("{seed}: layer {layer}: {m}"));
            }
        }
        eprintln!("{seed}: {}: within {:.2e}", overlapping.plan().kernels, seen.max_abs);
        // A sequence of another length has kernels of its own.
        let long = prompt(&mut overlapping, &ids[..7], 1200);
        let again = prompt(&mut overlapping, &ids[..7], 20);
        assert_eq!(alone(&mut overlapping, long, &ids[7..11]), alone(&mut overlapping, again, &ids[7..11]));
    }
}

#[test]
fn every_position_to_32_768_is_served() {
    if !present() {
        return;
    }
    let config = Config { max_positions: 32_768, ..small(Family::Qwen3) };
    let (_folder, checkpoint) = seeded(&config, 81);
    let (ids, tail) = (ids(32_768, config.vocab), 68);
    let mut model = open(&checkpoint, WeightFormat::F32, false, true);
    let sequence = prompt(&mut model, &ids[..ids.len() - tail], ids.len());
    let got = alone(&mut model, sequence, &ids[ids.len() - tail..]);
    let other = prompt(&mut model, &ids[..ids.len() - tail], ids.len());
    let mut want = Vec::new();
    let mut each = |_: usize, logits: &[f32]| want.extend_from_slice(logits);
    let rest = &ids[ids.len() - tail..];
    model.prefill(other, rest, LogitSink::Each(&mut each), &Cancel::default()).unwrap();
    let seen = compare(&got, &wide(&want), Tolerance::F32_STATE).unwrap_or_else(|m| panic!("{m}"));
    for layer in 0..config.layers {
        let (a, b) = (model.copy_kv(sequence, layer), model.copy_kv(other, layer));
        compare(&a.0, &wide(&b.0), Tolerance::F32_STATE).unwrap_or_else(|m| panic!("{m}"));
        compare(&a.1, &wide(&b.1), Tolerance::F32_STATE).unwrap_or_else(|m| panic!("{m}"));
    }
    assert!(model.decode(&[Step { sequence, token: 1 }], &mut vec![0.0; config.vocab]).is_err());
    eprintln!("to position 32,768: within {:.2e}", seen.max_abs);
}

#[test]
fn hidden_states_are_what_the_head_multiplies() {
    if !present() {
        return;
    }
    let config = Config { head_dim: 64, tied: true, vocab: 300, ..small(Family::Llama) };
    let (_folder, checkpoint) = seeded(&config, 91);
    let embedding = checkpoint.parameters().embedding.to_f32().unwrap();
    let ids = ids(70, config.vocab);
    for (weights, hopper, tolerance) in
        [(WeightFormat::F32, false, Tolerance::F32_STATE), (WeightFormat::Bf16, true, Tolerance::BF16_STATE)]
    {
        let mut model = open(&checkpoint, weights, hopper, true);
        let (_, want) = prefill_all(&mut model, &ids, 100);
        let sequence = model.create(100).unwrap();
        let mut got = Vec::new();
        let mut each = |row: usize, state: &[f32]| {
            assert_eq!(row * config.vocab, got.len());
            let head = embedding.chunks(config.hidden);
            got.extend(head.map(|w| w.iter().zip(state).map(|(w, x)| w * x).sum::<f32>()));
        };
        model.hidden(sequence, &ids, &mut each, &Cancel::default()).unwrap();
        compare(&got, &wide(&want), tolerance).unwrap_or_else(|m| panic!("{m}"));
        assert_eq!(model.len(sequence), ids.len());
    }
}
