//! What a resident model refuses, and what it leaves behind when it does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod common;

use common::{argmax, prefill_all, resident, seeded};
use tilewright_backend::{Cancel, Greedy, LogitSink, Resident, Sequence, Step};
use tilewright_cpu::{CpuOptions, open};
use tilewright_gate::seeded::small;
use tilewright_model::{Checkpoint, Code, Config, Family, WeightFormat};

const VOCAB: usize = 512;

fn model(options: CpuOptions) -> Box<dyn Resident> {
    let config: Config = small(Family::Qwen3);
    assert_eq!(config.vocab, VOCAB);
    let (_folder, checkpoint) = seeded(&config, 21);
    resident(&checkpoint, WeightFormat::F32, options)
}

fn prefill(model: &mut dyn Resident, sequence: Sequence, ids: &[u32]) -> Result<(), Code> {
    model.prefill(sequence, ids, LogitSink::None, &Cancel::default()).map_err(|r| r.code())
}

fn decode(model: &mut dyn Resident, sequence: Sequence, token: u32) -> Result<Vec<f32>, Code> {
    let mut logits = vec![0.0; VOCAB];
    model.decode(&[Step { sequence, token }], &mut logits).map_err(|r| r.code())?;
    Ok(logits)
}

#[test]
fn a_full_sequence_refuses_before_any_work() {
    let mut model = model(CpuOptions { context: Some(100), ..CpuOptions::default() });
    assert_eq!(model.create(101).map_err(|r| r.code()), Err(Code::ContextFull));
    let sequence = model.create(10).unwrap();
    assert_eq!(prefill(&mut *model, sequence, &[1; 11]), Err(Code::ContextFull));
    assert_eq!(model.len(sequence), 0);
    prefill(&mut *model, sequence, &[1; 10]).unwrap();
    assert_eq!(decode(&mut *model, sequence, 1), Err(Code::ContextFull));
    assert_eq!(model.len(sequence), 10);
    model.truncate(sequence, 9);
    assert!(decode(&mut *model, sequence, 1).is_ok());
}

#[test]
fn invalid_calls_are_refused_together_and_change_nothing() {
    let mut model = model(CpuOptions::default());
    let (one, gone) = (model.create(10).unwrap(), model.create(10).unwrap());
    model.release(gone);
    model.release(gone);
    assert_eq!(prefill(&mut *model, gone, &[1]), Err(Code::RequestInvalid));
    assert_eq!(prefill(&mut *model, one, &[1, VOCAB as u32]), Err(Code::RequestInvalid));
    let steps = [(one, VOCAB as u32), (one, 1), (gone, 1)].map(|(sequence, token)| Step { sequence, token });
    let refusal = model.decode(&steps, &mut [0.0; VOCAB]).unwrap_err();
    assert_eq!(refusal.code(), Code::RequestInvalid);
    assert_eq!(refusal.findings().len(), 4, "id, twice the same, unknown, length of logits: {refusal}");
    assert_eq!(model.len(one), 0);
    assert_eq!(model.len(gone), 0);
    model.decode(&[], &mut []).unwrap();
}

#[test]
fn cancelling_leaves_whole_chunks() {
    let mut model = model(CpuOptions { prefill_chunk: Some(8), ..CpuOptions::default() });
    let ids: Vec<u32> = (0..50).collect();
    let (_, want) = prefill_all(&mut *model, &ids);
    let sequence = model.create(50).unwrap();
    let cancel = Cancel::default();
    let flag = cancel.clone();
    let mut rows = 0;
    let mut each = |row: usize, _: &[f32]| {
        rows = row + 1;
        if row == 20 {
            flag.cancel();
        }
    };
    let refusal = model.prefill(sequence, &ids, LogitSink::Each(&mut each), &cancel).unwrap_err();
    assert_eq!(refusal.code(), Code::Cancelled);
    assert_eq!(rows, 24);
    assert_eq!(model.len(sequence), 24);
    let mut logits = vec![0.0; VOCAB];
    model.prefill(sequence, &ids[24..], LogitSink::Last(&mut logits), &Cancel::default()).unwrap();
    assert!(logits == want[49 * VOCAB..], "going on after a cancelled call differs from one call");
}

#[test]
fn truncating_forgets_and_sequences_do_not_see_each_other() {
    let mut model = model(CpuOptions::default());
    let ids: Vec<u32> = (100..400).collect();
    let (first, want) = prefill_all(&mut *model, &ids);
    let other = model.create(500).unwrap();
    prefill(&mut *model, other, &[7; 290]).unwrap();
    model.truncate(first, 3);
    assert_eq!((model.len(first), model.len(other)), (3, 290));
    model.truncate(first, 200);
    assert_eq!(model.len(first), 3, "truncating never lengthens");
    let mut logits = vec![0.0; VOCAB];
    model.prefill(first, &ids[3..], LogitSink::Last(&mut logits), &Cancel::default()).unwrap();
    assert!(logits == want[299 * VOCAB..]);
    model.truncate(first, 0);
    assert_eq!(model.copy_kv(first, 0), (vec![], vec![]));
}

#[test]
fn every_instruction_set_gives_the_same_logits() {
    let config = Config { heads: 6, kv_heads: 3, vocab: 300, ..small(Family::Qwen2) };
    let (_folder, checkpoint) = seeded(&config, 22);
    for weights in tilewright_cpu::FORMATS {
        let mut results = tilewright_cpu::simd::Isa::available().into_iter().map(|isa| {
            let options = CpuOptions { isa: Some(isa), ..CpuOptions::default() };
            let mut model = resident(&checkpoint, weights, options);
            (isa, prefill_all(&mut *model, &[3, 1, 4, 1, 5, 9, 2, 6]).1)
        });
        let (_, want) = results.next().unwrap();
        assert!(want.iter().all(|l| l.is_finite()));
        for (isa, logits) in results {
            assert!(logits == want, "{weights} on {isa} differs");
        }
    }
}

#[test]
fn non_finite_weights_are_refused_by_name_and_place() {
    let (folder, checkpoint) = seeded(&small(Family::Qwen3), 23);
    let tensor = checkpoint.parameters().layers[1].up.clone();
    let (name, cols) = (tensor.name.to_string(), tensor.row_len());
    let file = folder.path().join("model.safetensors");
    let mut bytes = std::fs::read(&file).unwrap();
    let at = bytes.windows(64).position(|w| w == &tensor.bytes[..64]).unwrap();
    drop(checkpoint);
    let index = 2 * (5 * cols + 7);
    bytes[at + index..at + index + 2].copy_from_slice(&half::bf16::NAN.to_le_bytes());
    std::fs::write(&file, bytes).unwrap();
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    for weights in tilewright_cpu::FORMATS {
        let options = CpuOptions { weights: Some(weights), ..CpuOptions::default() };
        let refusal = open(&checkpoint, &options, &mut |_| Ok(())).err().unwrap();
        assert_eq!(refusal.code(), Code::NonFiniteWeight);
        assert!(refusal.to_string().contains(&format!("{name}[5, 7]")), "{weights}: {refusal}");
    }
}

#[test]
fn greedy_steps_of_several_are_the_single_steps_of_each() {
    let mut model = model(CpuOptions { context: Some(100), ..CpuOptions::default() });
    let start = |model: &mut dyn Resident, len: u32| {
        let sequence = model.create(60).unwrap();
        prefill(model, sequence, &(0..len).map(|i| i * 7 % VOCAB as u32).collect::<Vec<_>>()).unwrap();
        sequence
    };
    let lengths = [3, 17, 40];
    let (alone, together) =
        (lengths.map(|len| start(&mut *model, len)), lengths.map(|len| start(&mut *model, len)));
    let singly = alone.map(|sequence| {
        let mut ids = vec![5];
        while ids.len() < 13 {
            let logits = decode(&mut *model, sequence, ids[ids.len() - 1]).unwrap();
            ids.push(argmax(&logits));
        }
        ids[1..].to_vec()
    });
    let ends = [singly[1][4]];
    let [first, second, third] = together.map(|sequence| Greedy { sequence, token: 5, count: 12, ends: &[] });
    let runs = [first, Greedy { ends: &ends, ..second }, Greedy { count: 7, ..third }];
    assert_eq!(model.greedy_window(), 1, "the host chooses");
    let ids = model.greedy_together(&runs, &Cancel::default()).unwrap();
    for (n, ids) in ids.iter().enumerate() {
        assert_eq!(ids[..], singly[n][..runs[n].until_end(&singly[n][..runs[n].count])], "sequence {n}");
        let len = lengths[n] as usize + ids.len();
        assert_eq!(model.len(together[n]), len);
        model.truncate(alone[n], len);
        for layer in 0..model.config().layers {
            assert!(model.copy_kv(together[n], layer) == model.copy_kv(alone[n], layer), "sequence {n}");
        }
    }
    // Whatever is refused leaves nothing: one runs full, or nobody waits any more.
    let before = together.map(|sequence| model.len(sequence));
    let full = Greedy { count: 60, ..third };
    let refusal = model.greedy_together(&[first, full], &Cancel::default()).unwrap_err();
    assert_eq!(refusal.code(), Code::ContextFull);
    let cancel = Cancel::default();
    cancel.cancel();
    assert_eq!(model.greedy_together(&[first], &cancel).unwrap_err().code(), Code::Cancelled);
    assert_eq!(together.map(|sequence| model.len(sequence)), before);
}
