//! What the planner decides and refuses.

use tilewright_backend::{KvFormat, Plan};
use tilewright_model::{Code, Config, Parameters, Refusal, StoredType, WeightFormat};

use crate::host::Host;
use crate::options::CpuOptions;
use crate::simd::Isa;
use crate::testing::config;

fn host(available: Option<u64>) -> Host {
    Host { cores: 6, available, isa: Isa::detect() }
}

/// The plan for a model all of whose tensors are stored alike.
fn resolve_plan(
    config: &Config,
    stored: StoredType,
    options: &CpuOptions,
    host: &Host,
) -> Result<Plan, Refusal> {
    super::resolve_plan(config, &Parameters::all(config, &stored), options, host)
}

#[test]
fn lossless_formats_are_the_default_and_said_so() {
    for (stored, weights, kv) in [
        (StoredType::Bf16, WeightFormat::Bf16, KvFormat::F16),
        (StoredType::F16, WeightFormat::F32, KvFormat::F32),
        (StoredType::F32, WeightFormat::F32, KvFormat::F32),
        (StoredType::F64, WeightFormat::F32, KvFormat::F32),
    ] {
        let plan = resolve_plan(&config(), stored, &CpuOptions::default(), &host(None)).unwrap();
        assert_eq!((plan.weights, plan.kv), (weights, kv), "{stored}");
        assert_eq!((plan.threads, plan.context), (6, 4096));
        assert!(plan.notes[0].contains(weights.name()), "{:?}", plan.notes);
    }
}

#[test]
fn what_is_asked_is_done() {
    let options = CpuOptions {
        weights: Some(WeightFormat::Int8),
        kv: Some(KvFormat::F32),
        threads: Some(3),
        context: Some(100),
        prefill_chunk: Some(7),
        ..CpuOptions::default()
    };
    let plan = resolve_plan(&config(), StoredType::Bf16, &options, &host(None)).unwrap();
    assert_eq!((plan.weights, plan.kv), (WeightFormat::Int8, KvFormat::F32));
    assert_eq!((plan.threads, plan.context, plan.prefill_chunk), (3, 100, 7));
    assert_eq!(plan.notes, Vec::<String>::new());
}

#[test]
fn options_outside_their_range_are_refused_together() {
    let options = CpuOptions {
        threads: Some(0),
        context: Some(4097),
        prefill_chunk: Some(usize::MAX),
        ..CpuOptions::default()
    };
    let refusal = resolve_plan(&config(), StoredType::Bf16, &options, &host(None)).unwrap_err();
    assert_eq!(refusal.code(), Code::DeviceOptionInvalid);
    let what: Vec<&str> = refusal.findings().iter().map(|f| f.what.as_str()).collect();
    assert_eq!(what, ["threads", "context", "prefill chunk"]);
}

#[test]
fn a_cache_that_only_gpus_have_is_refused_by_name() {
    for kv in [KvFormat::Bf16, KvFormat::Int8] {
        let options = CpuOptions { kv: Some(kv), ..CpuOptions::default() };
        let refusal = resolve_plan(&config(), StoredType::Bf16, &options, &host(None)).unwrap_err();
        assert_eq!(refusal.code(), Code::DeviceOptionInvalid);
        assert!(refusal.to_string().contains(kv.name()), "{refusal}");
    }
}

#[test]
fn memory_limits_a_context_that_was_not_asked_for_and_refuses_one_that_was() {
    let plan = |available, context| {
        let options = CpuOptions { context, ..CpuOptions::default() };
        resolve_plan(&config(), StoredType::Bf16, &options, &host(Some(available)))
    };
    let free = plan(u64::MAX, None).unwrap();
    let room = |positions: u64| free.weight_bytes + positions * free.kv_bytes_per_position;
    let cut = plan(room(1000), None).unwrap();
    assert_eq!(cut.context, 1000);
    assert!(cut.notes.iter().any(|n| n.contains("1000") && n.contains("4096")), "{:?}", cut.notes);
    assert_eq!(plan(room(1000), Some(1000)).unwrap().context, 1000);

    let refusal = plan(room(1000), Some(1001)).unwrap_err();
    assert_eq!(refusal.code(), Code::OutOfMemory);
    let text = refusal.to_string();
    assert!(text.contains(&room(1000).to_string()) && text.contains(&room(1001).to_string()), "{text}");
    assert_eq!(plan(room(100), None).unwrap_err().code(), Code::OutOfMemory);
}

#[test]
fn sizes_are_those_of_the_parameters() {
    let config = Config { tied: false, qkv_bias: true, ..config() };
    let options = CpuOptions { weights: Some(WeightFormat::F32), ..CpuOptions::default() };
    let plan = resolve_plan(&config, StoredType::F32, &options, &host(None)).unwrap();
    let matrices = 2 * (64 * (128 + 64 + 64) + 64 * 128 + 3 * 64 * 96) + 100 * 64;
    let vectors = 2 * (64 + 64 + 32 + 32 + 128 + 64 + 64) + 64;
    assert!(plan.bytes_per_token >= 4 * (matrices + vectors), "{}", plan.bytes_per_token);
    assert!(plan.weight_bytes - plan.bytes_per_token >= 4 * 100 * 64);
    assert_eq!(plan.kv_bytes_per_position, 2 * 2 * 64 * 4);
}

#[test]
fn a_file_of_several_types_takes_the_bytes_of_each() {
    let config = Config { hidden: 256, intermediate: 512, head_dim: 64, ..config() };
    let mut stored = Parameters::all(&config, &StoredType::Q4K);
    stored.embedding = StoredType::Q6K;
    stored.layers[0].down = StoredType::F32;
    let of = |stored: &Parameters<StoredType>| {
        super::resolve_plan(&config, stored, &CpuOptions::default(), &host(None)).unwrap()
    };
    let (plain, mixed) = (of(&Parameters::all(&config, &StoredType::Q4K)), of(&stored));
    let more = |elements: usize, from: StoredType, to: StoredType| {
        (to.bytes(elements) - from.bytes(elements)) as u64
    };
    let embedding = more(config.vocab * config.hidden, StoredType::Q4K, StoredType::Q6K);
    let down = more(config.hidden * config.intermediate, StoredType::Q4K, StoredType::F32);
    assert_eq!(mixed.weight_bytes - plain.weight_bytes, embedding + down);
    assert!(mixed.notes[0].contains("as its file stores it"), "{:?}", mixed.notes);
}
