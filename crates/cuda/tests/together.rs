//! Several sequences at once on a GPU: what is refused, and what is not disturbed by it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test; what is skipped is said"
)]

mod common;

use std::path::Path;
use std::time::Duration;

use common::{argmax, greedy_together, ids, present, resident, seeded};
use tilewright_backend::{Cancel, Greedy, Kernels, LogitSink, Resident, Step};
use tilewright_cuda::{CudaModel, CudaOptions};
use tilewright_gate::seeded::Preset;
use tilewright_model::{Checkpoint, Code, Config, WeightFormat};

fn config() -> Config {
    Config { layers: 3, vocab: 4096, bos: Some(1), eos: vec![2], ..Preset::Qwen3Small.config() }
}

fn options() -> CudaOptions {
    CudaOptions { hopper: Some(true), ..CudaOptions::default() }
}

/// Sequences of different lengths, each to be given a token.
fn start(model: &mut CudaModel, count: usize) -> Vec<Step> {
    let ids = ids(1200, model.config().vocab);
    (0..count)
        .map(|row| {
            let sequence = model.create(1300).unwrap();
            let length = row * 37 % 1200;
            model.prefill(sequence, &ids[..length], LogitSink::None, &Cancel::default()).unwrap();
            Step { sequence, token: 7 + row as u32 }
        })
        .collect()
}

#[test]
fn a_worker_that_stays_away_is_a_named_error_and_the_next_steps_are_right() {
    if !present() {
        return;
    }
    let (_folder, checkpoint) = seeded(&config(), 71);
    let mut model = resident(&checkpoint, &options());
    if !matches!(model.plan().kernels, Kernels::Cuda { persistent: true, .. }) {
        eprintln!("skipped: {:?}", model.plan().notes);
        return;
    }
    for count in [3, 16, 32] {
        let steps = start(&mut model, count);
        let lengths: Vec<usize> = steps.iter().map(|s| model.len(s.sequence)).collect();
        let want = greedy_together(&mut model, &steps, 40, &[]).unwrap();
        for worker in [0, 77, 127] {
            let back = |model: &mut CudaModel| {
                steps.iter().zip(&lengths).for_each(|(s, len)| model.truncate(s.sequence, *len));
            };
            back(&mut model);
            model.inject_fault(Some((worker, Duration::from_millis(50))));
            let refusal = greedy_together(&mut model, &steps, 40, &[]).unwrap_err();
            assert_eq!(refusal.code(), Code::DeviceTimeout, "{refusal}");
            assert!(steps.iter().zip(&lengths).all(|(s, len)| model.len(s.sequence) == *len));
            model.inject_fault(None);
            assert_eq!(greedy_together(&mut model, &steps, 40, &[]).unwrap(), want, "after the fault");
        }
        steps.iter().for_each(|s| model.release(s.sequence));
    }
}

/// The kernels that several sequences may be decoded by: one for many steps, some a step, one a stage.
const WAYS: [(bool, bool, WeightFormat); 5] = [
    (true, true, WeightFormat::Bf16),
    (true, true, WeightFormat::Int8),
    (false, true, WeightFormat::Bf16),
    (false, true, WeightFormat::Int8),
    (false, false, WeightFormat::Bf16),
];

fn way((persistent, hopper, weights): (bool, bool, WeightFormat)) -> CudaOptions {
    CudaOptions {
        persistent: Some(persistent),
        hopper: Some(hopper),
        weights: Some(weights),
        ..CudaOptions::default()
    }
}

#[test]
fn greedy_steps_of_several_are_the_single_steps_of_each_whatever_ends_them() {
    if !present() {
        return;
    }
    let (_folder, checkpoint) = seeded(&config(), 75);
    let most = 24;
    for way in WAYS.map(way) {
        let mut model = resident(&checkpoint, &way);
        let (vocab, layers) = (model.config().vocab, model.config().layers);
        for count in [1, 3, 17, 33] {
            let (fast, slow) = (start(&mut model, count), start(&mut model, count));
            let before: Vec<usize> = fast.iter().map(|s| model.len(s.sequence)).collect();
            let (mut steps, mut singly) = (slow.clone(), vec![Vec::new(); count]);
            let mut logits = vec![f32::NAN; count * vocab];
            for _ in 0..most {
                model.decode_together(&steps, &mut logits).unwrap();
                for ((step, ids), row) in steps.iter_mut().zip(&mut singly).zip(logits.chunks(vocab)) {
                    step.token = argmax(row);
                    ids.push(step.token);
                }
            }
            // Every third ends at an id that it comes to choose, the others each at a number of ids of its own.
            let ends: Vec<Vec<u32>> = (0..count)
                .map(|row| if row % 3 == 0 { vec![singly[row][row % most]] } else { Vec::new() })
                .collect();
            let runs: Vec<Greedy<'_>> = fast
                .iter()
                .enumerate()
                .map(|(row, s)| Greedy {
                    sequence: s.sequence,
                    token: s.token,
                    count: most - row % 7,
                    ends: &ends[row],
                })
                .collect();
            let chosen = model.greedy_together(&runs, &Cancel::default()).unwrap();
            for (row, run) in runs.iter().enumerate() {
                let want = &singly[row][..run.until_end(&singly[row][..run.count])];
                assert_eq!(chosen[row], want, "row {row} of {count}, {}", model.plan().kernels);
                let len = before[row] + want.len();
                assert_eq!(model.len(run.sequence), len);
                model.truncate(slow[row].sequence, len);
                for layer in 0..layers {
                    let held = |s| model.copy_kv_from(s, layer, before[row]);
                    assert!(held(run.sequence) == held(slow[row].sequence), "layer {layer} of row {row}");
                }
            }
            fast.iter().chain(&slow).for_each(|s| model.release(s.sequence));
        }
    }
}

#[test]
fn cancelled_greedy_steps_append_nothing() {
    if !present() {
        return;
    }
    let (_folder, checkpoint) = seeded(&config(), 76);
    for way in WAYS.map(way) {
        let mut model = resident(&checkpoint, &way);
        let steps = start(&mut model, 5);
        let before: Vec<usize> = steps.iter().map(|s| model.len(s.sequence)).collect();
        let run = |s: &Step| Greedy { sequence: s.sequence, token: s.token, count: 40, ends: &[] };
        let runs: Vec<Greedy<'_>> = steps.iter().map(run).collect();
        let cancel = Cancel::default();
        cancel.cancel();
        assert_eq!(model.greedy_together(&runs, &cancel).unwrap_err().code(), Code::Cancelled);
        assert!(steps.iter().zip(&before).all(|(s, len)| model.len(s.sequence) == *len));
    }
}

#[test]
fn hundreds_of_steps_repeat_whatever_is_beside_them() {
    if !present() {
        return;
    }
    let (_folder, checkpoint) = seeded(&config(), 72);
    for which in &WAYS[..2] {
        let mut model = resident(&checkpoint, &way(*which));
        let count = 32;
        let steps = start(&mut model, count);
        let want = greedy_together(&mut model, &steps, 90, &[]).unwrap();
        // In groups of other sizes, so that other kernels serve and other rows are beside.
        for size in [5, 9, 16, 31] {
            let again = start(&mut model, count);
            for (group, want) in again.chunks(size).zip(want.chunks(size)) {
                // One row alone is decoded by another kernel, whose sums differ in order.
                if group.len() > 1 {
                    let ids = greedy_together(&mut model, group, 90, &[]).unwrap();
                    assert_eq!(ids, want, "groups of {size}, {which:?}");
                }
            }
            again.iter().for_each(|s| model.release(s.sequence));
        }
    }
}

/// Sets every element of a tensor of bf16 to one of the largest numbers.
fn blow_up(folder: &Path, tensor: &str) {
    let path = folder.join("model.safetensors");
    let mut bytes = std::fs::read(&path).unwrap();
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let (begin, len) = {
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let data = file.tensor(tensor).unwrap().data();
        (data.as_ptr() as usize - bytes.as_ptr() as usize, data.len())
    };
    assert!(begin >= header);
    for pair in bytes[begin..begin + len].chunks_exact_mut(2) {
        pair.copy_from_slice(&0x7f60u16.to_le_bytes());
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn logits_that_are_no_numbers_are_refused_by_name_however_tokens_are_decoded() {
    if !present() {
        return;
    }
    let (folder, _) = seeded(&config(), 73);
    blow_up(folder.path(), "model.norm.weight");
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    for which in WAYS {
        let mut model = resident(&checkpoint, &way(which));
        let steps = start(&mut model, 9);
        let before: Vec<usize> = steps.iter().map(|s| model.len(s.sequence)).collect();
        for count in [1, 2, 9] {
            let refusal = greedy_together(&mut model, &steps[..count], 20, &[]).unwrap_err();
            assert_eq!(refusal.code(), Code::NonFiniteLogits, "{count} rows, {which:?}: {refusal}");
            assert!(steps.iter().zip(&before).all(|(s, len)| model.len(s.sequence) == *len));
        }
        let refusal = model.run(steps[8].sequence, 5, 20, &[]).unwrap_err();
        assert_eq!(refusal.code(), Code::NonFiniteLogits, "{which:?}: {refusal}");
        let mut logits = vec![0.0; 2 * 4096];
        model.decode(&steps[..2], &mut logits).unwrap();
        assert!(logits.chunks(4096).all(|row| row.iter().any(|v| !v.is_finite())));
    }
}

#[test]
fn steps_of_more_than_a_million_positions_are_split() {
    if !present() {
        return;
    }
    let (_folder, checkpoint) = seeded(&Config { layers: 1, ..config() }, 74);
    let mut model = resident(&checkpoint, &options());
    let (vocab, length) = (model.config().vocab, 34_000);
    let ids = ids(length + 32, vocab);
    let steps: Vec<Step> = (0..32)
        .map(|row| {
            let sequence = model.create(length + 8).unwrap();
            model.prefill(sequence, &ids[row..row + length], LogitSink::None, &Cancel::default()).unwrap();
            Step { sequence, token: 7 + row as u32 }
        })
        .collect();
    let mut together = vec![f32::NAN; 32 * vocab];
    model.decode(&steps, &mut together).unwrap();
    for (group, logits) in steps.chunks(8).zip(together.chunks(8 * vocab)) {
        group.iter().for_each(|step| model.truncate(step.sequence, length));
        let mut few = vec![f32::NAN; 8 * vocab];
        model.decode(group, &mut few).unwrap();
        assert!(few == logits);
    }
}
