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

use common::{ids, present, resident, seeded};
use tilewright_backend::{Cancel, Kernels, LogitSink, Resident, Step};
use tilewright_cuda::{CudaModel, CudaOptions};
use tilewright_gate::seeded::Preset;
use tilewright_model::{Checkpoint, Code, Config};

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
        let want = model.greedy_together(&steps, 40, &[]).unwrap();
        for worker in [0, 77, 127] {
            let back = |model: &mut CudaModel| {
                steps.iter().zip(&lengths).for_each(|(s, len)| model.truncate(s.sequence, *len));
            };
            back(&mut model);
            model.inject_fault(Some((worker, Duration::from_millis(50))));
            let refusal = model.greedy_together(&steps, 40, &[]).unwrap_err();
            assert_eq!(refusal.code(), Code::DeviceTimeout, "{refusal}");
            model.inject_fault(None);
            back(&mut model);
            assert_eq!(model.greedy_together(&steps, 40, &[]).unwrap(), want, "after the fault");
        }
        steps.iter().for_each(|s| model.release(s.sequence));
    }
}

#[test]
fn hundreds_of_steps_repeat_whatever_is_beside_them() {
    if !present() {
        return;
    }
    let (_folder, checkpoint) = seeded(&config(), 72);
    let mut model = resident(&checkpoint, &options());
    let count = 32;
    let steps = start(&mut model, count);
    let want = model.greedy_together(&steps, 90, &[]).unwrap();
    // In groups of other sizes, so that other kernels serve and other rows are beside.
    for size in [5, 9, 16, 31] {
        let again = start(&mut model, count);
        for (group, want) in again.chunks(size).zip(want.chunks(size)) {
            // One row alone is decoded by another kernel, whose sums differ in order.
            if group.len() > 1 {
                assert_eq!(model.greedy_together(group, 90, &[]).unwrap(), want, "groups of {size}");
            }
        }
        again.iter().for_each(|s| model.release(s.sequence));
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
    for (persistent, hopper) in [(true, true), (false, true), (false, false)] {
        let options =
            CudaOptions { persistent: Some(persistent), hopper: Some(hopper), ..CudaOptions::default() };
        let mut model = resident(&checkpoint, &options);
        let steps = start(&mut model, 9);
        for count in [1, 2, 9] {
            let refusal = model.greedy_together(&steps[..count], 20, &[]).unwrap_err();
            assert_eq!(
                refusal.code(),
                Code::NonFiniteLogits,
                "{count} rows, {persistent} {hopper}: {refusal}"
            );
        }
        let refusal = model.run(steps[8].sequence, 5, 20, &[]).unwrap_err();
        assert_eq!(refusal.code(), Code::NonFiniteLogits, "{persistent} {hopper}: {refusal}");
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
