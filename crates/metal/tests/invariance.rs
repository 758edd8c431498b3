//! What a row gets does not depend on the tile, the call, or the sequences beside it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

mod common;

use common::{argmax, compare_state, fixture, open, prefill, reference, shim, some_ids};
use tilewright_backend::execution::{Attention, Gemm};
use tilewright_backend::{Cancel, Greedy, LogitSink, Resident, Sequence, Step};
use tilewright_metal::{MetalOptions, Session, ShimDevice};
use tilewright_model::tolerance::Tolerance;
use tilewright_model::{Code, WeightFormat};

const LENGTH: usize = 67;

fn tiny(attention: Attention, chunk: usize) -> Option<Session<ShimDevice>> {
    let options = MetalOptions {
        attention: Some(attention),
        prefill_chunk: Some(chunk),
        context: Some(1024),
        ..MetalOptions::default()
    };
    Some(open(shim()?, &fixture("qwen3-tiny"), options))
}

/// Every number by its bits: logits, keys and values.
fn bits(model: &impl Resident, sequence: Sequence, logits: &[f32]) -> Vec<u32> {
    let caches = (0..model.config().layers).flat_map(|layer| {
        let (keys, values) = model.copy_kv(sequence, layer);
        keys.into_iter().chain(values)
    });
    logits.iter().copied().chain(caches).map(f32::to_bits).collect()
}

#[test]
fn tiles_of_any_size_leave_the_same_bits() {
    for &attention in Attention::ALL {
        let mut first = None;
        for chunk in [2048, 64, 7, 1] {
            let Some(mut model) = tiny(attention, chunk) else { return };
            let ids = some_ids(model.config().vocab, LENGTH);
            let (sequence, logits) = prefill(&mut model, &ids);
            let now = bits(&model, sequence, &logits);
            assert_eq!(model.trace().command_buffers, LENGTH.div_ceil(chunk));
            assert!(*first.get_or_insert_with(|| now.clone()) == now, "{attention}, tiles of {chunk}");
        }
    }
}

#[test]
fn few_rows_take_the_narrow_tile_unless_a_tier_is_asked_for() {
    for (gemm, expected) in [(None, (8, 0)), (Some(Gemm::MslParity), (0, 8))] {
        let Some(device) = shim() else { return };
        let attention = Some(Attention::GroupedNoMirror);
        let options = MetalOptions { attention, gemm, context: Some(1024), ..MetalOptions::default() };
        let mut model = open(device, &fixture("qwen3-tiny"), options);
        prefill(&mut model, &some_ids(512, 20));
        let products = |tier: &str| {
            let runs = model.trace().kernels.into_iter().filter(|(name, _)| name.contains(tier));
            runs.map(|(_, count)| count).sum::<usize>()
        };
        assert_eq!((products("_matmul_original_"), products("_matmul_msl_")), expected, "{gemm:?}");
    }
}

#[test]
fn a_prompt_in_two_calls_and_the_logits_of_every_row_have_the_same_bits() {
    let Some(mut model) = tiny(Attention::GroupedNoMirror, 16) else { return };
    let ids = some_ids(model.config().vocab, 37);
    let (whole, logits) = prefill(&mut model, &ids);
    let expected = bits(&model, whole, &logits);
    let cancel = Cancel::default();
    let parts = model.create(64).unwrap();
    model.prefill(parts, &ids[..20], LogitSink::None, &cancel).unwrap();
    let mut rows: Vec<Vec<f32>> = Vec::new();
    let mut each = |row: usize, values: &[f32]| {
        assert_eq!(row, rows.len());
        rows.push(values.to_vec());
    };
    model.prefill(parts, &ids[20..], LogitSink::Each(&mut each), &cancel).unwrap();
    assert_eq!(rows.len(), 17);
    assert!(expected == bits(&model, parts, &rows[16]));
    for (n, row) in rows.iter().enumerate().step_by(5) {
        let (_, alone) = prefill(&mut model, &ids[..21 + n]);
        assert!(alone.iter().map(|x| x.to_bits()).eq(row.iter().map(|x| x.to_bits())), "row {n}");
    }
}

#[test]
fn up_to_four_sequences_together_get_the_bits_they_get_alone() {
    for attention in [Attention::Off, Attention::ParametricNativeDecode] {
        let Some(mut model) = tiny(attention, 64) else { return };
        let vocab = model.config().vocab;
        let ids = some_ids(vocab, 40);
        let lengths = [5, 11, 1, 23];
        let start = |model: &mut Session<ShimDevice>| lengths.map(|n| prefill(model, &ids[..n]).0);
        let alone = start(&mut model);
        let mut expected = Vec::new();
        for (n, &sequence) in alone.iter().enumerate() {
            let mut logits = vec![0.0; vocab];
            for step in 0..2 {
                model.decode(&[Step { sequence, token: ids[30 + n + step] }], &mut logits).unwrap();
            }
            expected.push(bits(&model, sequence, &logits));
        }
        for count in 1..=4 {
            let together = start(&mut model);
            let mut logits = vec![0.0; count * vocab];
            for step in 0..2 {
                let steps: Vec<Step> =
                    (0..count).map(|n| Step { sequence: together[n], token: ids[30 + n + step] }).collect();
                let before = model.trace().command_buffers;
                model.decode(&steps, &mut logits).unwrap();
                assert_eq!(model.trace().command_buffers, before + 1, "one sweep over the weights");
            }
            for n in 0..count {
                let got = bits(&model, together[n], &logits[n * vocab..][..vocab]);
                assert!(got == expected[n], "{attention}: {n} of {count}");
            }
            together.into_iter().for_each(|sequence| model.release(sequence));
        }
    }
}

#[test]
fn as_many_sequences_as_a_step_may_have_get_the_bits_they_get_alone() {
    let Some(mut model) = tiny(Attention::ParametricNativeDecode, 64) else { return };
    let vocab = model.config().vocab;
    let ids = some_ids(vocab, 64);
    let start = |model: &mut Session<ShimDevice>, n: usize| prefill(model, &ids[n..n + 1 + n * 5 % 13]).0;
    let alone: Vec<Vec<u32>> = (0..32)
        .map(|n| {
            let (sequence, mut logits) = (start(&mut model, n), vec![0.0; vocab]);
            model.decode(&[Step { sequence, token: ids[n + 20] }], &mut logits).unwrap();
            let bits = bits(&model, sequence, &logits);
            model.release(sequence);
            bits
        })
        .collect();
    for count in [5, 32] {
        let together: Vec<Sequence> = (0..count).map(|n| start(&mut model, n)).collect();
        let step = |n: usize| Step { sequence: together[n], token: ids[n + 20] };
        let mut logits = vec![0.0; count * vocab];
        model.decode(&(0..count).map(step).collect::<Vec<_>>(), &mut logits).unwrap();
        for n in 0..count {
            let got = bits(&model, together[n], &logits[n * vocab..][..vocab]);
            assert!(got == alone[n], "{n} of {count}");
        }
        together.into_iter().for_each(|sequence| model.release(sequence));
    }
}

#[test]
fn greedy_steps_of_several_are_the_single_steps_of_each() {
    for attention in [Attention::Off, Attention::ParametricNativeDecode] {
        let Some(mut model) = tiny(attention, 64) else { return };
        let vocab = model.config().vocab;
        let ids = some_ids(vocab, 40);
        let lengths = [5, 11, 23];
        let start = |model: &mut Session<ShimDevice>| lengths.map(|n| prefill(model, &ids[..n]).0);
        let (alone, together) = (start(&mut model), start(&mut model));
        let singly = alone.map(|sequence| {
            let (mut token, mut logits) = (3, vec![0.0; vocab]);
            (0..6)
                .map(|_| {
                    model.decode(&[Step { sequence, token }], &mut logits).unwrap();
                    token = argmax(&logits);
                    token
                })
                .collect::<Vec<u32>>()
        });
        let ends = [singly[0][2]];
        let [first, second, third] =
            together.map(|sequence| Greedy { sequence, token: 3, count: 6, ends: &[] });
        let runs = [Greedy { ends: &ends, ..first }, Greedy { count: 4, ..second }, third];
        let chosen = model.greedy_together(&runs, &Cancel::default()).unwrap();
        for (n, chosen) in chosen.iter().enumerate() {
            assert_eq!(
                chosen[..],
                singly[n][..runs[n].until_end(&singly[n][..runs[n].count])],
                "{attention}: {n}"
            );
            model.truncate(alone[n], lengths[n] + chosen.len());
            assert!(bits(&model, together[n], &[]) == bits(&model, alone[n], &[]), "{attention}: {n}");
        }
    }
}

#[test]
fn a_prompt_longer_than_the_largest_tile_goes_on_in_the_next() {
    let Some(device) = shim() else { return };
    let checkpoint = fixture("qwen3-tiny");
    let options = MetalOptions {
        attention: Some(Attention::GroupedNoMirror),
        prefill_chunk: Some(2048),
        context: Some(2060),
        ..MetalOptions::default()
    };
    let mut model = open(device, &checkpoint, options);
    let ids = some_ids(model.config().vocab, 2053);
    let (sequence, logits) = prefill(&mut model, &ids);
    assert_eq!(model.trace().command_buffers, 2);
    let run = reference(&checkpoint, WeightFormat::Int8).forward(&ids);
    compare_state(&model, sequence, &logits, &run, Tolerance::F16_CACHE, "2,048 and 5 rows");
}

#[test]
fn steps_beyond_512_keys_split_them_and_mates_on_the_other_side_do_not() {
    let Some(mut model) = tiny(Attention::ParametricNativeDecode, 2048) else { return };
    let checkpoint = fixture("qwen3-tiny");
    let vocab = model.config().vocab;
    let ids = some_ids(vocab, 520);
    let (long, _) = prefill(&mut model, &ids[..510]);
    let (short, _) = prefill(&mut model, &ids[..9]);
    let (mut logits, mut all) = (vec![0.0; 2 * vocab], ids[..510].to_vec());
    for n in 0..6 {
        let steps =
            [Step { sequence: long, token: ids[510 + n] }, Step { sequence: short, token: ids[9 + n] }];
        model.decode(&steps, &mut logits).unwrap();
        all.push(ids[510 + n]);
    }
    let ran = model.trace().kernels;
    assert_eq!(ran["decode_attention_split_f32_cache_f16_parts8"], 2 * 4, "four steps of two layers");
    assert_eq!(ran["decode_attention_merge_f32_parts8"], 2 * 4);
    let reference = reference(&checkpoint, WeightFormat::Int8);
    let run = reference.forward(&all);
    compare_state(&model, long, &logits[..vocab], &run, Tolerance::F16_CACHE, "long");
    let run = reference.forward(&ids[..15]);
    compare_state(&model, short, &logits[vocab..], &run, Tolerance::F16_CACHE, "short");
    let more = model.greedy(long, 1, 1, &[]).unwrap();
    assert_eq!(
        (more.len(), model.last_dispatches()),
        (1, tilewright_backend::ledger::dispatch_budget_deep(2))
    );
}

#[test]
fn a_prompt_after_steps_sees_what_the_steps_have_added() {
    for &attention in Attention::ALL {
        let Some(mut model) = tiny(attention, 64) else { return };
        let vocab = model.config().vocab;
        let ids = some_ids(vocab, 30);
        let (sequence, mut logits) = prefill(&mut model, &ids[..10]);
        for &token in &ids[10..14] {
            model.decode(&[Step { sequence, token }], &mut logits).unwrap();
        }
        model.prefill(sequence, &ids[14..], LogitSink::Last(&mut logits), &Cancel::default()).unwrap();
        let run = reference(&fixture("qwen3-tiny"), WeightFormat::Int8).forward(&ids);
        let bound = if attention == Attention::Off { Tolerance::F32_STATE } else { Tolerance::F16_CACHE };
        compare_state(&model, sequence, &logits, &run, bound, attention.name());

        // Cut back and continued differently, nothing of the old positions is left.
        model.truncate(sequence, 12);
        model.prefill(sequence, &ids[..5], LogitSink::Last(&mut logits), &Cancel::default()).unwrap();
        let other: Vec<u32> = ids[..12].iter().chain(&ids[..5]).copied().collect();
        let run = reference(&fixture("qwen3-tiny"), WeightFormat::Int8).forward(&other);
        compare_state(&model, sequence, &logits, &run, bound, &format!("{attention}, cut"));
    }
}

#[test]
fn a_cancelled_prompt_holds_whole_tiles_and_a_full_context_is_refused_before_any_work() {
    let Some(mut model) = tiny(Attention::Off, 7) else { return };
    let ids = some_ids(model.config().vocab, 40);
    let sequence = model.create(20).unwrap();
    let cancel = Cancel::default();
    cancel.cancel();
    let refusal = model.prefill(sequence, &ids[..14], LogitSink::None, &cancel).unwrap_err();
    assert_eq!((refusal.code(), model.len(sequence)), (Code::Cancelled, 0));
    model.prefill(sequence, &ids[..20], LogitSink::None, &Cancel::default()).unwrap();
    let ran = model.trace();
    let mut logits = vec![0.0; model.config().vocab];
    let full = model.prefill(sequence, &ids[..1], LogitSink::None, &Cancel::default());
    assert_eq!(full.unwrap_err().code(), Code::ContextFull);
    let step = Step { sequence, token: 1 };
    assert_eq!(model.decode(&[step], &mut logits).unwrap_err().code(), Code::ContextFull);
    assert_eq!(model.greedy(sequence, 1, 1, &[]).unwrap_err().code(), Code::ContextFull);
    let context = model.plan().context;
    assert_eq!(model.create(context + 1).unwrap_err().code(), Code::ContextFull);
    assert_eq!(model.trace(), ran);
    model.release(sequence);
    model.release(sequence);
    assert_eq!(model.decode(&[step], &mut logits).unwrap_err().code(), Code::RequestInvalid);
}
