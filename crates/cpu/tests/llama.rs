//! The numerics of llama.cpp: the bits of its logits over small files of every covered type, however they are computed.
//! `bench/peers/llama_bits.py` writes what is compared with.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

mod common;

use std::path::{Path, PathBuf};

use common::{prefill_all, seeded};
use serde_json::Value;
use tilewright_backend::{Cancel, Kernels, KvFormat, LogitSink, Numerics, Resident, Step};
use tilewright_cpu::simd::Isa;
use tilewright_cpu::{CpuOptions, Host, open, resolve_plan};
use tilewright_gate::seeded::small;
use tilewright_model::{Checkpoint, Code, Family, Parameters, Role, StoredType, WeightFormat};

const MODELS: [&str; 3] = ["llama", "qwen3", "qwen2"];

type Setting = (&'static str, Numerics, KvFormat);

/// What the logits are called, and how they come about.
const SETTINGS: [Setting; 3] = [
    ("f32", Numerics::LlamaCpp, KvFormat::F32),
    ("f16", Numerics::LlamaCpp, KvFormat::F16),
    ("flash", Numerics::LlamaCppFlash, KvFormat::F16),
];

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/llama").join(file)
}

fn llama(threads: usize) -> CpuOptions {
    CpuOptions { numerics: Numerics::LlamaCpp, threads: Some(threads), ..CpuOptions::default() }
}

fn opened(model: &str, options: &CpuOptions) -> Box<dyn Resident> {
    let checkpoint = Checkpoint::open(&path(&format!("{model}.gguf"))).unwrap();
    open(&checkpoint, options, &mut |_| Ok(())).unwrap()
}

/// What llama.cpp has over a model.
fn said(model: &str) -> Value {
    let all: Value = serde_json::from_slice(&std::fs::read(path("logits.json")).unwrap()).unwrap();
    all[model].clone()
}

fn ids(model: &str) -> Vec<u32> {
    let count = said(model)["positions"].as_u64().unwrap() as u32;
    (0..count).map(|i| (i * i * 31 + i * 17 + 5) % 67).collect()
}

/// FNV-1a of 64 bits.
fn digest(logits: &[f32]) -> String {
    let bytes = logits.iter().flat_map(|logit| logit.to_le_bytes());
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// Where sine and cosine are those of the library that llama.cpp took. The last row's first logits come before the digest of
/// all, to show how far off they are.
#[test]
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
fn logits_are_llama_cpps_to_the_bit() {
    let on_all = |case| Isa::available().into_iter().map(move |isa| (case, isa));
    for ((model, (setting, numerics, kv)), isa) in cases().flat_map(on_all) {
        let said = &said(model)[setting];
        let options = CpuOptions { isa: Some(isa), numerics, kv: Some(kv), ..llama(2) };
        let (_, logits) = prefill_all(&mut *opened(model, &options), &ids(model));
        let last = &logits[logits.len() - 67..][..8];
        let words: Vec<String> = last.iter().map(|v| format!("{:08x}", v.to_bits())).collect();
        assert_eq!(Value::from(words), said["last"], "{model}, {setting}, {isa}: {last:?}");
        assert_eq!(digest(&logits), said["digest"].as_str().unwrap(), "{model}, {setting}, {isa}");
    }
}

/// Every model in every setting: but heads of 128 dims have no flash attention.
fn cases() -> impl Iterator<Item = (&'static str, Setting)> {
    let all = MODELS.into_iter().flat_map(|model| SETTINGS.map(|setting| (model, setting)));
    all.filter(|(model, (setting, ..))| (*model, *setting) != ("qwen3", "flash"))
}

#[test]
fn the_devices_own_numerics_have_other_bits() {
    for (model, (setting, _, kv)) in cases() {
        let options = CpuOptions { kv: Some(kv), threads: Some(1), ..CpuOptions::default() };
        let (_, logits) = prefill_all(&mut *opened(model, &options), &ids(model));
        assert_ne!(digest(&logits), said(model)[setting]["digest"].as_str().unwrap(), "{model}, {setting}");
    }
}

#[test]
fn bits_do_not_depend_on_chunks_threads_batch_mates_or_reuse() {
    for (model, (setting, numerics, kv)) in cases() {
        let ids = ids(model);
        let on = |threads| CpuOptions { numerics, kv: Some(kv), ..llama(threads) };
        let mut whole = opened(model, &on(1));
        let (sequence, expected) = prefill_all(&mut *whole, &ids);
        let state = whole.copy_kv(sequence, 0);
        for (threads, chunk) in [(1, 1), (2, 7), (3, 64)] {
            let mut other = opened(model, &CpuOptions { prefill_chunk: Some(chunk), ..on(threads) });
            let (sequence, logits) = prefill_all(&mut *other, &ids);
            assert_eq!(
                bits(&logits),
                bits(&expected),
                "{model}, {setting}: {threads} threads, chunks of {chunk}"
            );
            assert!(other.copy_kv(sequence, 0) == state, "{model}, {setting}: keys and values");
        }

        // The last tokens one at a time, beside a sequence that is elsewhere.
        let (split, vocab) = (ids.len() - 5, 67);
        let sequences = [split, 3].map(|len| {
            let sequence = whole.create(300).unwrap();
            whole.prefill(sequence, &ids[..len], LogitSink::None, &Cancel::default()).unwrap();
            sequence
        });
        let mut logits = vec![0.0; 2 * vocab];
        for at in 0..5 {
            let steps = [(0, split + at), (1, 3 + at)]
                .map(|(which, at): (usize, usize)| Step { sequence: sequences[which], token: ids[at] });
            whole.decode(&steps, &mut logits).unwrap();
            for (row, position) in [split + at, 3 + at].into_iter().enumerate() {
                let (got, want) = (&logits[row * vocab..][..vocab], &expected[position * vocab..][..vocab]);
                assert_eq!(bits(got), bits(want), "{model}, {setting}, position {position}");
            }
        }

        // A prefix taken from another sequence, and one left by what went on otherwise.
        let forked = whole.fork(sequence, split, 300).unwrap().unwrap();
        whole.truncate(sequences[0], split - 2);
        for (reused, from) in [(forked, split), (sequences[0], split - 2)] {
            let mut last = vec![0.0; vocab];
            whole.prefill(reused, &ids[from..], LogitSink::Last(&mut last), &Cancel::default()).unwrap();
            assert_eq!(
                bits(&last),
                bits(&expected[expected.len() - vocab..]),
                "{model}, {setting}, {from} reused"
            );
        }
    }
}

#[test]
fn the_plan_says_whose_numerics() {
    for numerics in [Numerics::LlamaCpp, Numerics::LlamaCppFlash] {
        let resident = opened("llama", &CpuOptions { numerics, ..llama(1) });
        let plan = resident.plan();
        assert!(
            matches!(plan.kernels, Kernels::Cpu { numerics: n, .. } if n == numerics),
            "{:?}",
            plan.kernels
        );
        assert!(plan.kernels.to_string().ends_with(&format!(", numerics of {numerics}")), "{}", plan.kernels);
        assert_eq!((plan.kv, plan.weights), (KvFormat::F16, WeightFormat::Gguf));
    }
    let native = opened("llama", &CpuOptions::default());
    assert!(!native.plan().kernels.to_string().contains("numerics"), "{}", native.plan().kernels);
}

/// What is refused, and a word of what it says.
#[test]
fn what_is_not_covered_is_refused_by_name() {
    let refused = |checkpoint: &Checkpoint, options: CpuOptions, words: &[&str]| {
        let refusal = match open(checkpoint, &options, &mut |_| panic!("no work is begun")) {
            Ok(resident) => panic!("opened: {:?}", resident.plan()),
            Err(refusal) => refusal,
        };
        assert_eq!(refusal.code(), Code::DeviceOptionInvalid);
        let text = refusal.to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
        assert_eq!(refusal.findings().len(), words.len(), "{text}");
    };
    let checkpoint = Checkpoint::open(&path("llama.gguf")).unwrap();
    let flash = || CpuOptions { numerics: Numerics::LlamaCppFlash, ..llama(1) };
    refused(&checkpoint, CpuOptions { kv: Some(KvFormat::F32), ..flash() }, &["KV cache"]);
    refused(&checkpoint, CpuOptions { weights: Some(WeightFormat::F32), ..flash() }, &["weights"]);
    refused(&checkpoint, CpuOptions { weights: Some(WeightFormat::Int8), ..llama(1) }, &["weights"]);
    let both = CpuOptions { weights: Some(WeightFormat::F32), kv: Some(KvFormat::F32), ..flash() };
    refused(&checkpoint, both, &["weights", "KV cache"]);

    let wide = Checkpoint::open(&path("qwen3.gguf")).unwrap();
    refused(&wide, flash(), &["head width"]);

    // No blocks at all, alone and beside what else is wrong.
    let opened = |fixture: &str| Checkpoint::open(&common::fixture(fixture)).unwrap();
    for (fixture, words) in [
        ("qwen3-tiny", &["bf16"][..]),
        ("qwen3-sharded-f16", &["f32"]),
        ("llama3-rope-scaling", &["blocks of a GGUF file", "Llama 3 scaling by"]),
        ("qwen3-yarn", &["blocks of a GGUF file", "YaRN scaling by"]),
    ] {
        refused(&opened(fixture), llama(1), words);
    }
    let (_folder, floats) = seeded(&small(Family::Llama), 3);
    refused(&floats, llama(1), &["blocks of a GGUF file"]);
}

/// A type without an order, also for one matrix alone, and f32 beside blocks where they read the same rows.
#[test]
fn types_of_matrices_without_an_order_are_refused_by_name() {
    let checkpoint = Checkpoint::open(&path("llama.gguf")).unwrap();
    let stored = checkpoint.parameters().map(|_, tensor| tensor.stored);
    let planned = |stored: &Parameters<StoredType>| {
        let host = Host::detect();
        resolve_plan(checkpoint.config(), stored, &llama(1), &host).map_err(|refusal| refusal.to_string())
    };
    assert!(planned(&stored).is_ok());
    for (from, to) in [(StoredType::Q5_1, StoredType::Q6K), (StoredType::Q5_0, StoredType::Q4_0)] {
        let other = stored.map(|_, stored| if *stored == from { to } else { *stored });
        let text = planned(&other).unwrap_err();
        assert!(text.contains("matrices") && text.contains(to.name()), "{text}");
    }
    let other = stored.map(|role, stored| if role == Role::K { StoredType::F32 } else { *stored });
    let text = planned(&other).unwrap_err();
    assert!(text.contains("matrices of one input"), "{text}");
}
