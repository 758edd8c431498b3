//! A row's results are the same bits however its prompt was cut, whoever shares its batch, and on any number of
//! threads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod common;

use std::ops::Range;

use common::{prefill_all, resident, seeded};
use proptest::prelude::*;
use tilewright_backend::{Cancel, LogitSink, Resident, Sequence, Step};
use tilewright_cpu::CpuOptions;
use tilewright_gate::seeded::small;
use tilewright_model::{Config, Family, WeightFormat};

fn config(family: Family, kv_heads: usize, group: usize, head_dim: usize) -> Config {
    Config {
        hidden: 96,
        intermediate: 160,
        vocab: 131,
        layers: 2,
        heads: kv_heads * group,
        kv_heads,
        head_dim,
        ..small(family)
    }
}

/// Shapes of every kind: odd and even heads, one or several to a KV head, widths that end in a part of a group.
fn any_config(layers: usize) -> impl Strategy<Value = Config> {
    let family = prop::sample::select(vec![Family::Qwen3, Family::Qwen2, Family::Llama, Family::Mistral]);
    let heads = (1_usize..4, 1_usize..6, prop::sample::select(vec![32_usize, 64, 128, 256]));
    let sizes = (1_usize..10, 1_usize..10, 10_usize..150, any::<bool>());
    (family, heads, sizes).prop_map(
        move |(family, (kv_heads, group, head_dim), (hidden, intermediate, vocab, tied))| Config {
            hidden: 32 * hidden,
            intermediate: 32 * intermediate,
            vocab,
            layers,
            tied,
            ..config(family, kv_heads, group, head_dim)
        },
    )
}

/// A length, a chunk, and where the pieces are cut: anywhere, and so that few tokens are decoded one by one.
fn any_text(lengths: Range<usize>) -> impl Strategy<Value = (usize, usize, (usize, usize))> {
    (lengths, 1_usize..800, 0.0_f64..1.0, 0_usize..12).prop_map(|(len, chunk, cut, decoded)| {
        let rest = len.saturating_sub(decoded);
        (len, chunk, ((rest as f64 * cut) as usize, rest))
    })
}

fn any_weights() -> impl Strategy<Value = WeightFormat> {
    prop::sample::select(tilewright_cpu::FORMATS.to_vec())
}

/// Some ids, reproducible.
fn ids(len: usize, vocab: usize) -> Vec<u32> {
    (0..len).map(|i| ((i * i * 31 + i * 17 + 5) % vocab) as u32).collect()
}

/// What a sequence looks like after `ids`: every row's logits, and all keys and values.
#[derive(PartialEq)]
struct State {
    logits: Vec<f32>,
    cache: Vec<(Vec<f32>, Vec<f32>)>,
}

fn cache(model: &dyn Resident, sequence: Sequence) -> Vec<(Vec<f32>, Vec<f32>)> {
    (0..model.config().layers).map(|layer| model.copy_kv(sequence, layer)).collect()
}

fn whole(model: &mut dyn Resident, ids: &[u32]) -> State {
    let (sequence, logits) = prefill_all(model, ids);
    State { cache: cache(model, sequence), logits }
}

/// Prefills up to `cut`, then in a second call up to `rest`, then decodes one by one. Only the last row of the
/// second call and the decoded rows have logits; the others are taken from `from`.
fn in_pieces(model: &mut dyn Resident, ids: &[u32], cut: usize, rest: usize, from: &State) -> State {
    let vocab = model.config().vocab;
    let sequence = model.create(ids.len()).unwrap();
    let mut logits = from.logits.clone();
    model.prefill(sequence, &ids[..cut], LogitSink::None, &Cancel::default()).unwrap();
    if rest > cut {
        let last = &mut logits[(rest - 1) * vocab..rest * vocab];
        model.prefill(sequence, &ids[cut..rest], LogitSink::Last(last), &Cancel::default()).unwrap();
    }
    for at in rest..ids.len() {
        let step = Step { sequence, token: ids[at] };
        model.decode(&[step], &mut logits[at * vocab..(at + 1) * vocab]).unwrap();
    }
    State { cache: cache(model, sequence), logits }
}

/// A text of `len` ids, taken in by chunks and by pieces, on so many threads each.
fn check(
    config: &Config,
    (weights, seed): (WeightFormat, u64),
    (len, chunk, cuts): (usize, usize, (usize, usize)),
    threads: &[usize],
) {
    let (_folder, checkpoint) = seeded(config, seed);
    let ids = ids(len, config.vocab);
    let open = |threads, chunk| {
        let options =
            CpuOptions { threads: Some(threads), prefill_chunk: Some(chunk), ..CpuOptions::default() };
        resident(&checkpoint, weights, options)
    };
    let want = whole(&mut *open(1, 512), &ids);
    assert!(want.logits.iter().all(|l| l.is_finite()));
    for &threads in threads {
        let mut model = open(threads, chunk);
        let what = format!("{config:?}, {weights}, {len} ids, {threads} threads, chunks of {chunk}");
        assert!(whole(&mut *model, &ids) == want, "{what}: prefill differs");
        let pieces = in_pieces(&mut *model, &ids, cuts.0, cuts.1, &want);
        assert!(pieces == want, "{what}: pieces cut at {cuts:?} differ");
    }
}

#[test]
fn chunk_sizes_of_every_format() {
    for weights in tilewright_cpu::FORMATS {
        for chunk in [1, 7, 64, 512] {
            check(&config(Family::Qwen3, 2, 2, 32), (weights, 11), (130, chunk, (65, 127)), &[1, 2, 3]);
        }
    }
}

/// One model of each format, at the longest length.
#[test]
fn three_thousand_tokens() {
    for (seed, weights) in (40..).zip(tilewright_cpu::FORMATS) {
        let config = Config { layers: 1, ..config(Family::Llama, 1, 3, 64) };
        check(&config, (weights, seed), (3000, 700, (2900, 2990)), &[3]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn any_shape(
        config in any_config(2),
        weights in any_weights(),
        seed in 0_u64..1000,
        text in any_text(1..300),
    ) {
        check(&config, (weights, seed), text, &[1, 2, 3]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, ..ProptestConfig::default() })]

    #[test]
    fn any_shape_and_long(
        config in any_config(1),
        weights in any_weights(),
        seed in 0_u64..1000,
        text in any_text(300..3001),
    ) {
        check(&config, (weights, seed), text, &[2]);
    }
}

#[test]
fn batch_mates_do_not_show() {
    for weights in tilewright_cpu::FORMATS {
        let config = config(Family::Qwen3, 2, 3, 64);
        let (_folder, checkpoint) = seeded(&config, 13);
        let texts: Vec<Vec<u32>> =
            [300, 1, 17, 256].iter().map(|len| ids(len + 5, config.vocab)[5..].to_vec()).collect();
        for threads in [1, 3] {
            let options = CpuOptions { threads: Some(threads), ..CpuOptions::default() };
            let mut model = resident(&checkpoint, weights, options);
            let alone: Vec<State> = texts.iter().map(|ids| whole(&mut *model, ids)).collect();
            let sequences: Vec<Sequence> = texts
                .iter()
                .map(|ids| {
                    let sequence = model.create(ids.len()).unwrap();
                    let given = &ids[..ids.len() - 1];
                    model.prefill(sequence, given, LogitSink::None, &Cancel::default()).unwrap();
                    sequence
                })
                .collect();
            let steps: Vec<Step> = sequences
                .iter()
                .zip(&texts)
                .map(|(sequence, ids)| Step { sequence: *sequence, token: ids[ids.len() - 1] })
                .collect();
            let mut logits = vec![0.0; steps.len() * config.vocab];
            model.decode(&steps, &mut logits).unwrap();
            for (index, alone) in alone.iter().enumerate() {
                let got = &logits[index * config.vocab..][..config.vocab];
                let want = &alone.logits[alone.logits.len() - config.vocab..];
                assert!(got == want, "{weights}, {threads} threads: row {index} of a batch differs");
                assert!(cache(&*model, sequences[index]) == alone.cache, "{weights}: cache {index} differs");
            }
        }
    }
}
