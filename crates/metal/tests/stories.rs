//! The story model, whose margins are wide: the ids of float64, and of the CPU device with the same 8-bit weights.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test"
)]

mod common;

use common::{argmax, open, prefill, reference, shim};
use tilewright_backend::execution::{Attention, Gemm};
use tilewright_backend::{Cancel, LogitSink, Resident, Step};
use tilewright_cpu::CpuOptions;
use tilewright_metal::MetalOptions;
use tilewright_model::{Checkpoint, WeightFormat};

/// Tokens written.
const COUNT: usize = 24;

/// The first stored prompt and its continuation.
fn stored() -> (Vec<u32>, Vec<u32>) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/stories-qwen3/reference.json");
    let stored: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let ids = |name: &str| -> Vec<u32> {
        let list = stored["greedy"][0][name].as_array().unwrap();
        list.iter().map(|id| u32::try_from(id.as_u64().unwrap()).unwrap()).collect()
    };
    (ids("prompt_ids"), ids("ids"))
}

fn written(
    weights: WeightFormat,
    attention: Option<Attention>,
    gemm: Gemm,
    prompt: &[u32],
) -> Option<Vec<u32>> {
    let options = MetalOptions {
        weights: Some(weights),
        attention,
        gemm: Some(gemm),
        context: Some(512),
        ..MetalOptions::default()
    };
    let mut model = open(shim()?, &Checkpoint::embedded().unwrap(), options);
    let (sequence, logits) = prefill(&mut model, prompt);
    let mut ids = vec![argmax(&logits)];
    ids.extend(model.greedy(sequence, ids[0], COUNT - 1, &[]).unwrap());
    Some(ids)
}

#[test]
fn f32_weights_write_the_stored_story() {
    let (prompt, expected) = stored();
    let ids = written(WeightFormat::F32, Some(Attention::Off), Gemm::MslParity, &prompt);
    if let Some(ids) = ids {
        assert_eq!(ids, expected[..COUNT]);
    }
}

#[test]
fn lossless_packed_weights_write_the_stored_story_through_the_usual_attention() {
    let (prompt, expected) = stored();
    if let Some(ids) = written(WeightFormat::Bf16, None, Gemm::Vecload4, &prompt) {
        assert_eq!(ids, expected[..COUNT]);
    }
}

#[test]
fn int8_weights_write_what_the_cpu_device_writes_with_int8_weights() {
    let (prompt, _) = stored();
    let checkpoint = Checkpoint::embedded().unwrap();
    let options = CpuOptions { weights: Some(WeightFormat::Int8), threads: Some(2), ..CpuOptions::default() };
    let mut cpu = tilewright_cpu::open(&checkpoint, &options, &mut |_| Ok(())).unwrap();
    let sequence = cpu.create(512).unwrap();
    let mut logits = vec![0.0; cpu.config().vocab];
    cpu.prefill(sequence, &prompt, LogitSink::Last(&mut logits), &Cancel::default()).unwrap();
    // The CPU rounds activations too, so only margins wider than what that costs bind it.
    let rounded = reference(&checkpoint, WeightFormat::Int8);
    let greedy = rounded.greedy(&prompt, COUNT);
    let last = rounded.forward(&prompt).logits;
    let last = &last[last.len() - logits.len()..];
    let lost = logits.iter().zip(last).fold(0.0, |most: f64, (a, b)| most.max((f64::from(*a) - b).abs()));
    let sure = greedy.margins.iter().take_while(|margin| **margin > 2.0 * lost).count();
    eprintln!("{sure} of {COUNT} ids are certain");
    assert!(sure >= 4, "{:?} beside {lost}", greedy.margins);
    let mut expected = Vec::new();
    for _ in 0..COUNT {
        let token = argmax(&logits);
        expected.push(token);
        cpu.decode(&[Step { sequence, token }], &mut logits).unwrap();
    }
    for (attention, gemm) in [(Attention::GroupedNoMirror, Gemm::MslParity), (Attention::Off, Gemm::SplitK)] {
        if let Some(ids) = written(WeightFormat::Int8, Some(attention), gemm, &prompt) {
            assert_eq!(ids[..sure], greedy.ids[..sure], "{attention}: float64");
            assert_eq!(ids[..sure], expected[..sure], "{attention}: CPU");
        }
    }
}
