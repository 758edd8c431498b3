//! Plans from facts.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use super::*;
use tilewright_gate::seeded::Preset;

fn gpu(free: u64) -> Gpu {
    Gpu {
        ordinal: 1,
        name: "NVIDIA Hopper".into(),
        capability: (9, 0),
        multiprocessors: 132,
        shared_memory: 232_448,
        memory: 141 << 30,
        free,
        driver: (13, 0),
    }
}

#[test]
fn formats_follow_the_checkpoint_and_the_path_the_facts() {
    let config = Preset::Qwen3Small.config();
    let plan = |stored, options: &CudaOptions| {
        resolve_plan(&config, &Parameters::all(&config, &stored), options, &gpu(140 << 30)).unwrap()
    };
    let bf16 = plan(StoredType::Bf16, &CudaOptions::default());
    assert_eq!(
        (bf16.device, bf16.weights, bf16.kv),
        (DeviceKind::Cuda(1), WeightFormat::Bf16, KvFormat::Bf16)
    );
    assert!(is_persistent(&bf16) && bf16.context == config.max_positions);
    assert_eq!(bf16.kv_bytes_per_position, 112 * 1024);
    let staged = plan(StoredType::Bf16, &CudaOptions { persistent: Some(false), ..CudaOptions::default() });
    assert!(!is_persistent(&staged) && staged.weight_bytes < bf16.weight_bytes);
    assert!(is_hopper(&bf16) && bf16.prefill_chunk == HOPPER_CHUNK);
    let plain = plan(StoredType::Bf16, &CudaOptions { hopper: Some(false), ..CudaOptions::default() });
    assert!(!is_hopper(&plain) && is_persistent(&plain) && plain.prefill_chunk == PREFILL_CHUNK);
    assert!(plain.notes.iter().any(|n| n.contains("as asked")), "{:?}", plain.notes);
    let f32 = plan(StoredType::F32, &CudaOptions::default());
    assert_eq!((f32.weights, f32.kv), (WeightFormat::F32, KvFormat::F32));
    assert!(!is_persistent(&f32) && f32.notes.iter().any(|n| n.contains("bf16")), "{:?}", f32.notes);
}

#[test]
fn kernels_for_hopper_take_shapes_by_facts_and_say_why_not() {
    let config = Preset::Qwen3Small.config();
    let options = CudaOptions::default();
    let refused = |config: &Config, options: &CudaOptions, gpu: &Gpu| {
        let plan = resolve_plan(config, &Parameters::all(config, &StoredType::Bf16), options, gpu).unwrap();
        assert!(!is_hopper(&plan) && plan.prefill_chunk == PREFILL_CHUNK, "{:?}", plan.notes);
        plan.notes.join("; ")
    };
    let hopper = gpu(140 << 30);
    let older = Gpu { capability: (8, 0), ..hopper.clone() };
    assert!(refused(&config, &options, &older).contains("compute capability 9.0"));
    let f32 = CudaOptions { kv: Some(KvFormat::F32), ..options.clone() };
    assert!(refused(&config, &f32, &hopper).contains("KV cache in bf16"));
    assert!(refused(&Config { head_dim: 96, ..config.clone() }, &options, &hopper).contains("head_dim"));
    let ragged = Config { intermediate: 3068, ..config.clone() };
    assert!(refused(&ragged, &options, &hopper).contains("multiples of 8"));
    let crowded = Config { heads: 16, kv_heads: 1, ..config };
    assert!(refused(&crowded, &options, &hopper).contains("1,280 dims"));
}

#[test]
fn memory_bounds_the_context_or_refuses() {
    let config = Preset::Qwen3Small.config();
    let options = CudaOptions { persistent: Some(false), ..CudaOptions::default() };
    let plan =
        resolve_plan(&config, &Parameters::all(&config, &StoredType::Bf16), &options, &gpu(4 << 30)).unwrap();
    assert!(plan.context < config.max_positions && plan.context > 512);
    let asked = CudaOptions { context: Some(config.max_positions), ..options };
    let refusal = resolve_plan(&config, &Parameters::all(&config, &StoredType::Bf16), &asked, &gpu(4 << 30))
        .unwrap_err();
    assert_eq!(refusal.code(), Code::OutOfMemory);
}

#[test]
fn weights_are_held_twice_where_memory_is_enough() {
    let config = Preset::Qwen3Large.config();
    let plan = |gib: u64| {
        resolve_plan(
            &config,
            &Parameters::all(&config, &StoredType::Bf16),
            &CudaOptions::default(),
            &gpu(gib << 30),
        )
        .unwrap()
    };
    assert!(is_persistent(&plan(40)));
    let once = plan(24);
    assert!(!is_persistent(&once) && once.notes.iter().any(|n| n.contains("twice")), "{:?}", once.notes);
}

#[test]
fn options_that_cannot_be_honoured_are_refused_together() {
    let config = Preset::Qwen3Small.config();
    let options = CudaOptions {
        weights: Some(WeightFormat::Int4),
        kv: Some(KvFormat::F16),
        context: Some(1 << 30),
        prefill_chunk: Some(0),
        ..CudaOptions::default()
    };
    let refusal =
        resolve_plan(&config, &Parameters::all(&config, &StoredType::Bf16), &options, &gpu(140 << 30))
            .unwrap_err();
    assert_eq!(refusal.code(), Code::DeviceOptionInvalid);
    assert_eq!(refusal.findings().len(), 4, "{refusal}");
}

#[test]
fn blocks_are_held_as_they_are_stored_where_that_is_asked_for() {
    let config = Preset::Qwen3Small.config();
    let of = |stored, weights| {
        let options = CudaOptions { weights, ..CudaOptions::default() };
        resolve_plan(&config, &Parameters::all(&config, &stored), &options, &gpu(140 << 30))
    };
    let usual = of(StoredType::Q4K, None).unwrap();
    assert_eq!(usual.weights, WeightFormat::F32);
    assert!(usual.notes.iter().any(|note| note.contains("widened to f32 from q4_k")), "{:?}", usual.notes);
    let q4 = of(StoredType::Q4K, Some(WeightFormat::Gguf)).unwrap();
    assert_eq!((q4.weights, q4.kv), (WeightFormat::Gguf, KvFormat::Bf16));
    assert!(!is_persistent(&q4) && !is_hopper(&q4) && is_overlapping(&q4), "{:?}", q4.notes);
    assert!(q4.notes.iter().any(|note| note.contains("q4_k (")), "{:?}", q4.notes);
    assert!(q4.weight_bytes * 6 < usual.weight_bytes, "4.625 bits instead of 32");
    let refused = of(StoredType::Bf16, Some(WeightFormat::Gguf)).unwrap_err();
    assert_eq!(refused.code(), Code::DeviceOptionInvalid);
}
