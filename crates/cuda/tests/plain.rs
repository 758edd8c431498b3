//! The plain path on a GPU: stored float64 results of every family, and bits that do not depend on grouping.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test; what is skipped is said"
)]

#[path = "plain/blocks.rs"]
mod blocks;
mod common;

use common::{FIXTURES, argmax, fixture, ids, prefill_all, present, resident, seeded};
use safetensors::SafeTensors;
use tilewright_backend::{Cancel, KvFormat, LogitSink, Resident, Step};
use tilewright_cuda::CudaOptions;
use tilewright_gate::seeded::small;
use tilewright_model::tolerance::{Tolerance, compare};
use tilewright_model::{Checkpoint, Code, Config, Family, StoredType, WeightFormat};

fn floats(file: &SafeTensors<'_>, name: &str) -> Vec<f64> {
    file.tensor(name).unwrap().data().as_chunks::<8>().0.iter().map(|w| f64::from_le_bytes(*w)).collect()
}

fn words(file: &SafeTensors<'_>, name: &str) -> Vec<u32> {
    let data = file.tensor(name).unwrap();
    data.data().as_chunks::<8>().0.iter().map(|w| i64::from_le_bytes(*w) as u32).collect()
}

fn check(name: &str, weights: WeightFormat) {
    let checkpoint = Checkpoint::open(&fixture(name)).unwrap();
    let options = CudaOptions {
        weights: Some(weights),
        kv: Some(KvFormat::F32),
        prefill_chunk: Some(7),
        ..CudaOptions::default()
    };
    let mut model = resident(&checkpoint, &options);
    let bytes = std::fs::read(fixture(name).join("reference.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let (layers, vocab) = (checkpoint.config().layers, checkpoint.config().vocab);
    let (prompt, want) = (words(&file, "prompt_ids"), floats(&file, "logits"));
    let greedy = words(&file, "greedy_ids");
    let (sequence, logits) = prefill_all(&mut model, &prompt, prompt.len() + greedy.len());
    let seen =
        compare(&logits, &want, Tolerance::F32_STATE).unwrap_or_else(|m| panic!("{name}: logits: {m}"));
    for layer in 0..layers {
        let (keys, values) = model.copy_kv(sequence, layer);
        for (part, got) in [("k", keys), ("v", values)] {
            compare(&got, &floats(&file, &format!("{part}.{layer}")), Tolerance::F32_STATE)
                .unwrap_or_else(|m| panic!("{name}: {part} of layer {layer}: {m}"));
        }
    }
    let mut logits = logits[logits.len() - vocab..].to_vec();
    let mut chosen = Vec::new();
    for _ in 0..greedy.len() {
        let token = argmax(&logits);
        chosen.push(token);
        model.decode(&[Step { sequence, token }], &mut logits).unwrap();
    }
    let sure = floats(&file, "margin").iter().take_while(|m| **m > 2.0 * seen.max_abs).count();
    assert!(sure > 0, "{name}: no step is certain");
    assert_eq!(chosen[..sure], greedy[..sure], "{name}: greedy ids");
    eprintln!("{name}, {weights}: logits within {:.2e}", seen.max_abs);
}

#[test]
fn f32_agrees_with_float64_on_every_family() {
    if present() {
        FIXTURES.iter().for_each(|name| check(name, WeightFormat::F32));
    }
}

#[test]
fn bf16_weights_agree_where_the_file_is_bf16() {
    if !present() {
        return;
    }
    let born = FIXTURES.iter().filter(|name| {
        let checkpoint = Checkpoint::open(&fixture(name)).unwrap();
        checkpoint.parameters().embedding.stored == StoredType::Bf16
    });
    let checked = born.map(|name| check(name, WeightFormat::Bf16)).count();
    assert!(checked >= 4);
}

#[test]
fn a_rows_bits_do_not_depend_on_how_rows_are_grouped() {
    if !present() {
        return;
    }
    let config = Config { heads: 6, kv_heads: 3, vocab: 300, ..small(Family::Qwen2) };
    let (_folder, checkpoint) = seeded(&config, 5);
    let ids = ids(150, config.vocab);
    let open =
        |chunk| resident(&checkpoint, &CudaOptions { prefill_chunk: Some(chunk), ..CudaOptions::default() });
    let (_, want) = prefill_all(&mut open(512), &ids, 200);
    for chunk in [1, 3, 8, 64] {
        let (_, got) = prefill_all(&mut open(chunk), &ids, 200);
        assert!(got == want, "chunks of {chunk}");
    }
    // One by one, three sequences at different places in each step.
    let mut model = open(16);
    let starts = [0usize, 40, 97];
    let sequences: Vec<_> = starts
        .iter()
        .map(|start| {
            let sequence = model.create(200).unwrap();
            model.prefill(sequence, &ids[..*start], LogitSink::None, &Cancel::default()).unwrap();
            sequence
        })
        .collect();
    let mut logits = vec![f32::NAN; 3 * config.vocab];
    for step in 0..40 {
        let steps: Vec<Step> = sequences
            .iter()
            .zip(starts)
            .map(|(sequence, start)| Step { sequence: *sequence, token: ids[start + step] })
            .collect();
        model.decode(&steps, &mut logits).unwrap();
        for (row, start) in starts.iter().enumerate() {
            let got = &logits[row * config.vocab..][..config.vocab];
            assert!(
                got == &want[(start + step) * config.vocab..][..config.vocab],
                "row {row} of step {step}"
            );
        }
    }
}

#[test]
fn calls_that_cannot_be_honoured_change_nothing() {
    if !present() {
        return;
    }
    let config = small(Family::Qwen3);
    let (_folder, checkpoint) = seeded(&config, 6);
    let mut model = resident(&checkpoint, &CudaOptions { context: Some(100), ..CudaOptions::default() });
    assert_eq!(model.create(101).map_err(|r| r.code()), Err(Code::ContextFull));
    let (one, gone) = (model.create(10).unwrap(), model.create(10).unwrap());
    model.release(gone);
    model.release(gone);
    let mut prefill = |sequence, ids: &[u32]| {
        model.prefill(sequence, ids, LogitSink::None, &Cancel::default()).map_err(|r| r.code())
    };
    assert_eq!(prefill(one, &[1; 11]), Err(Code::ContextFull));
    assert_eq!(prefill(one, &[1, config.vocab as u32]), Err(Code::RequestInvalid));
    assert_eq!(prefill(gone, &[1]), Err(Code::RequestInvalid));
    prefill(one, &[1; 10]).unwrap();
    let step = Step { sequence: one, token: 1 };
    let refusal = model.decode(&[step], &mut vec![0.0; config.vocab]).unwrap_err();
    assert_eq!((refusal.code(), model.len(one)), (Code::ContextFull, 10));
    let cancel = Cancel::default();
    cancel.cancel();
    model.truncate(one, 3);
    let refusal = model.prefill(one, &[1; 4], LogitSink::None, &cancel).unwrap_err();
    assert_eq!((refusal.code(), model.len(one)), (Code::Cancelled, 3));
}
