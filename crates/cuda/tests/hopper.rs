//! Prompts and batches by the kernels for Hopper: within bf16's tolerance of f32, and bits that depend on nothing beside a row.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test; what is skipped is said"
)]

mod common;

use common::{
    argmax, compare_kv, fixture, greedy_together, ids, prefill_all, present, resident, seeded, wide,
};
use tilewright_backend::{Cancel, Kernels, KvFormat, LogitSink, Resident, Sequence, Step};
use tilewright_cuda::{CudaModel, CudaOptions};
use tilewright_gate::seeded::{Preset, small};
use tilewright_model::tolerance::{Tolerance, compare};
use tilewright_model::{Checkpoint, Config, Family, WeightFormat};

/// A model that goes through the kernels for Hopper, if the GPU allows it.
fn open(checkpoint: &Checkpoint, options: CudaOptions) -> Option<CudaModel> {
    let options = CudaOptions {
        weights: options.weights.or(Some(WeightFormat::Bf16)),
        kv: Some(KvFormat::Bf16),
        hopper: Some(true),
        ..options
    };
    let model = resident(checkpoint, &options);
    if matches!(model.plan().kernels, Kernels::Cuda { hopper: true, .. }) {
        return Some(model);
    }
    eprintln!("skipped: {:?}", model.plan().notes);
    None
}

/// The same weights in f32 through the plain path.
fn exact(checkpoint: &Checkpoint) -> CudaModel {
    let options =
        CudaOptions { weights: Some(WeightFormat::F32), kv: Some(KvFormat::F32), ..CudaOptions::default() };
    resident(checkpoint, &options)
}

/// Shapes that differ in everything the kernels know: head sizes, groups, norms, biases, ragged widths.
fn shapes() -> Vec<Config> {
    let wide = Config { layers: 3, vocab: 4096, bos: Some(1), eos: vec![2], ..Preset::Qwen3Small.config() };
    vec![
        Config {
            head_dim: 64,
            heads: 6,
            kv_heads: 2,
            hidden: 224,
            intermediate: 352,
            vocab: 300,
            ..small(Family::Qwen2)
        },
        Config {
            head_dim: 128,
            heads: 9,
            kv_heads: 1,
            hidden: 160,
            intermediate: 96,
            vocab: 777,
            ..small(Family::Qwen3)
        },
        wide,
    ]
}

fn prompt(model: &mut CudaModel, ids: &[u32], room: usize) -> (Sequence, Vec<f32>) {
    let sequence = model.create(room).unwrap();
    let mut logits = vec![f32::NAN; model.config().vocab];
    model.prefill(sequence, ids, LogitSink::Last(&mut logits), &Cancel::default()).unwrap();
    (sequence, logits)
}

fn same_kv(a: &CudaModel, b: &CudaModel, (one, other): (Sequence, Sequence), len: usize) -> bool {
    let dim = a.config().head_dim;
    (0..a.config().layers).all(|layer| {
        let (x, y) = (a.copy_kv(one, layer), b.copy_kv(other, layer));
        let heads = |kv: &[f32], held: usize| -> Vec<f32> {
            kv.chunks(held * dim).flat_map(|head| head[..len * dim].to_vec()).collect()
        };
        let (p, q) = (a.len(one), b.len(other));
        heads(&x.0, p) == heads(&y.0, q) && heads(&x.1, p) == heads(&y.1, q)
    })
}

#[test]
fn logits_keys_and_values_agree_with_f32() {
    if !present() {
        return;
    }
    for (seed, config) in shapes().into_iter().enumerate() {
        let (_folder, checkpoint) = seeded(&config, 31 + seed as u64);
        let Some(mut model) = open(&checkpoint, CudaOptions::default()) else { return };
        let mut plain = exact(&checkpoint);
        let ids = ids(333, config.vocab);
        let (truth, want) = prefill_all(&mut plain, &ids, 400);
        let (sequence, got) = prefill_all(&mut model, &ids[..300], 400);
        let seen = compare(&got, &wide(&want[..300 * config.vocab]), Tolerance::BF16_STATE)
            .unwrap_or_else(|m| panic!("{config:?}: logits: {m}"));
        // The rest in steps of two rows, with a sequence of no account beside.
        let mate = model.create(400).unwrap();
        let mut logits = vec![f32::NAN; 2 * config.vocab];
        for (row, token) in ids.iter().enumerate().skip(300) {
            let steps = [Step { sequence: mate, token: *token }, Step { sequence, token: *token }];
            model.decode(&steps, &mut logits).unwrap();
            compare(
                &logits[config.vocab..],
                &wide(&want[row * config.vocab..][..config.vocab]),
                Tolerance::BF16_STATE,
            )
            .unwrap_or_else(|m| panic!("{config:?}: step {row}: {m}"));
        }
        compare_kv((&model, sequence), (&plain, truth));
        eprintln!(
            "head_dim {}, hidden {}: logits within {:.2e} of f32",
            config.head_dim, config.hidden, seen.max_abs
        );
    }
}

#[test]
fn fixtures_are_no_farther_from_float64_than_torch_in_bf16() {
    if !present() {
        return;
    }
    // The greatest errors of plain forwards in torch, on CPU and GPU, eager and fused.
    for (name, torch) in [
        ("llama-d64-odd-heads", 0.70),
        ("qwen3-d128-wide-q", 0.41),
        ("qwen3-sharded-f16", 0.21),
        ("qwen3-untied-mqa-f32", 0.16),
    ] {
        let checkpoint = Checkpoint::open(&fixture(name)).unwrap();
        let Some(mut model) = open(&checkpoint, CudaOptions::default()) else { return };
        let bytes = std::fs::read(fixture(name).join("reference.safetensors")).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let numbers = |name: &str| file.tensor(name).unwrap().data().as_chunks::<8>().0.to_vec();
        let ids: Vec<u32> = numbers("prompt_ids").iter().map(|w| i64::from_le_bytes(*w) as u32).collect();
        let want: Vec<f64> = numbers("logits").iter().map(|w| f64::from_le_bytes(*w)).collect();
        let (_, got) = prefill_all(&mut model, &ids, ids.len());
        assert_eq!(got.len(), want.len());
        let near = |(got, want): (&f32, &f64)| (f64::from(*got) - want).abs() <= torch;
        assert!(got.iter().zip(&want).all(near), "{name}: a logit is farther off than {torch}");
    }
}

#[test]
fn a_prompts_bits_do_not_depend_on_where_it_is_cut() {
    if !present() {
        return;
    }
    for (seed, config) in shapes().into_iter().enumerate() {
        let (_folder, checkpoint) = seeded(&config, 41 + seed as u64);
        let Some(mut whole) = open(&checkpoint, CudaOptions::default()) else { return };
        let ids = ids(2049, config.vocab);
        let (all, every) = prefill_all(&mut whole, &ids, 2060);
        for length in [1, 7, 63, 64, 65, 511, 513, 2049] {
            let (sequence, logits) = prompt(&mut whole, &ids[..length], 2060);
            assert!(logits == every[(length - 1) * config.vocab..][..config.vocab], "{length} rows at once");
            assert!(same_kv(&whole, &whole, (sequence, all), length), "keys and values of {length} rows");
            whole.release(sequence);
        }
        for chunk in [1, 7, 64, 100, 1000] {
            let count = if chunk == 1 { 40 } else { 1300 };
            let mut cut =
                open(&checkpoint, CudaOptions { prefill_chunk: Some(chunk), ..CudaOptions::default() })
                    .unwrap();
            let (sequence, logits) = prompt(&mut cut, &ids[..count], 2060);
            assert!(logits == every[(count - 1) * config.vocab..][..config.vocab], "chunks of {chunk}");
            assert!(same_kv(&cut, &whole, (sequence, all), count), "keys and values in chunks of {chunk}");
        }
        // Cut by the caller, at places that fit no tile.
        let sequence = whole.create(2060).unwrap();
        let mut from = 0;
        for to in [1, 2, 17, 130, 131, 700, 1411, 2049] {
            let mut logits = vec![f32::NAN; config.vocab];
            whole
                .prefill(sequence, &ids[from..to], LogitSink::Last(&mut logits), &Cancel::default())
                .unwrap();
            assert!(logits == every[(to - 1) * config.vocab..][..config.vocab], "rows {from} to {to}");
            from = to;
        }
        assert!(same_kv(&whole, &whole, (sequence, all), 2049));
    }
}

#[test]
fn a_rows_bits_do_not_depend_on_the_rows_beside_it() {
    if !present() {
        return;
    }
    for (seed, config) in shapes().into_iter().enumerate() {
        let (_folder, checkpoint) = seeded(&config, 51 + seed as u64);
        for weights in [WeightFormat::Bf16, WeightFormat::Int8] {
            let options = CudaOptions { weights: Some(weights), ..CudaOptions::default() };
            let Some(mut model) = open(&checkpoint, options) else { return };
            rows_do_not_depend_on_rows(&mut model);
        }
    }
}

fn rows_do_not_depend_on_rows(model: &mut CudaModel) {
    let vocab = model.config().vocab;
    let (ids, steps) = (ids(700, vocab), 24);
    // Alone beside a mate that is always the same; then among many that come and go.
    let lengths = [1usize, 15, 127, 128, 500, 640];
    let mut alone = Vec::new();
    for length in lengths {
        let (one, _) = prompt(model, &ids[..length], 700);
        let mate = model.create(700).unwrap();
        let mut rows = Vec::new();
        for token in ids[..steps].iter().copied() {
            let mut logits = vec![f32::NAN; 2 * vocab];
            let steps = [Step { sequence: one, token }, Step { sequence: mate, token: 3 }];
            model.decode(&steps, &mut logits).unwrap();
            rows.push(logits[..vocab].to_vec());
        }
        alone.push(rows);
        model.release(one);
        model.release(mate);
    }
    let ours: Vec<Sequence> = lengths.map(|length| prompt(model, &ids[..length], 700).0).to_vec();
    let mates: Vec<Sequence> = (0..26).map(|i| prompt(model, &ids[..20 * i + 1], 700).0).collect();
    for step in 0..steps {
        let beside = [0, 1, 3, 10, 26][step % 5];
        let mut now: Vec<Step> = mates[..beside].iter().map(|s| Step { sequence: *s, token: 9 }).collect();
        let at = now.len() / 2;
        now.splice(at..at, ours.iter().map(|s| Step { sequence: *s, token: ids[step] }));
        let mut logits = vec![f32::NAN; now.len() * vocab];
        model.decode(&now, &mut logits).unwrap();
        for (row, want) in alone.iter().enumerate() {
            assert!(
                logits[(at + row) * vocab..][..vocab] == want[step],
                "row {row} of step {step}, {beside} beside"
            );
        }
    }
}

#[test]
fn ids_chosen_on_the_gpu_are_those_of_the_greatest_logits() {
    if !present() {
        return;
    }
    let config = shapes().remove(2);
    let (_folder, checkpoint) = seeded(&config, 61);
    let Some(mut model) = open(&checkpoint, CudaOptions::default()) else { return };
    let (ids, vocab, count) = (ids(400, config.vocab), config.vocab, 50);
    let lengths = [3usize, 130, 399];
    let start = |model: &mut CudaModel| {
        lengths.map(|length| Step { sequence: prompt(model, &ids[..length], 460).0, token: 7 })
    };
    let (fast, slow) = (start(&mut model), start(&mut model));
    let chosen = greedy_together(&mut model, &fast, count, &[]).unwrap();
    let mut steps = slow;
    let mut logits = vec![f32::NAN; 3 * vocab];
    let mut greatest = vec![Vec::new(); 3];
    for _ in 0..count {
        model.decode(&steps, &mut logits).unwrap();
        for ((step, ids), logits) in steps.iter_mut().zip(&mut greatest).zip(logits.chunks(vocab)) {
            step.token = argmax(logits);
            ids.push(step.token);
        }
    }
    assert_eq!(greatest, chosen);
    // Up to an id that ends one of them, then the others on.
    let again = start(&mut model);
    let end = chosen[1][20];
    let ended = greedy_together(&mut model, &again, count, &[end]).unwrap();
    for (row, (ids, all)) in ended.iter().zip(&chosen).enumerate() {
        let until = all.iter().position(|id| *id == end).map_or(count, |at| at + 1);
        assert_eq!(ids[..], all[..until], "row {row}");
        assert_eq!(model.len(again[row].sequence), lengths[row] + until);
    }
}
