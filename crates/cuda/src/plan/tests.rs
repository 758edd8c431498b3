//! Plans from facts.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use super::*;
use tilewright_gate::seeded::Preset;
use tilewright_model::Family;

fn gpu(free: u64) -> Gpu {
    Gpu {
        ordinal: 1,
        name: "NVIDIA Hopper".into(),
        capability: (9, 0),
        multiprocessors: 132,
        shared_memory: 232_448,
        memory: 141 << 30,
        free,
        granularity: Some(2 << 20),
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
    // In whole pages, and no page more would fit.
    let page = Layout::new(&config, plan.kv, Some(2 << 20)).page_bytes() as u64;
    let free = (4 << 30) - RESERVE - plan.weight_bytes;
    assert_eq!(plan.context as u64, free / page * PAGE as u64);
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

/// What an int8 model is held as: bytes of weights, and the plan.
fn int8(config: &Config, options: CudaOptions, gpu: &Gpu) -> Plan {
    let options = CudaOptions { weights: Some(WeightFormat::Int8), ..options };
    resolve_plan(config, &Parameters::all(config, &StoredType::Bf16), &options, gpu).unwrap()
}

#[test]
fn int8_is_held_once_on_any_gpu_and_the_plan_says_what_serves() {
    let config = Preset::Qwen3Small.config();
    let hopper = gpu(140 << 30);
    let bf16 = CudaOptions { persistent: Some(false), ..CudaOptions::default() };
    let stored = Parameters::all(&config, &StoredType::Bf16);
    let weights = resolve_plan(&config, &stored, &bf16, &hopper).unwrap().weight_bytes / 2;
    for capability in [(7, 5), (8, 0), (8, 9), (10, 0), (12, 0)] {
        let plan = int8(&config, CudaOptions::default(), &Gpu { capability, ..hopper.clone() });
        assert!(is_overlapping(&plan) && !is_hopper(&plan) && !is_persistent(&plan), "{:?}", plan.notes);
        assert!(plan.notes.iter().any(|n| n.contains("overlap") && n.contains("9.0")), "{:?}", plan.notes);
        // 8.125 bits a weight, and vectors.
        let bytes = weights + weights / 64;
        assert!(plan.weight_bytes.abs_diff(bytes) < bytes / 100, "{} and {bytes}", plan.weight_bytes);
        assert_eq!(plan.weight_bytes, plan.bytes_per_token, "embedding and head are one");
    }
    // Where the persistent decoder takes the shape nothing changes.
    assert!(is_persistent(&int8(&config, CudaOptions::default(), &hopper)));
}

#[test]
fn int8_on_hopper_is_widened_for_its_kernels_where_there_is_room() {
    let config = Preset::Qwen3Large.config();
    let plan = |gib: u64, options: CudaOptions| int8(&config, options, &gpu(gib << 30));
    let roomy = plan(140, CudaOptions::default());
    assert!(is_hopper(&roomy) && is_overlapping(&roomy) && !is_persistent(&roomy));
    assert!(roomy.notes.iter().any(|n| n.contains("twice")), "{:?}", roomy.notes);
    let tight = plan(16, CudaOptions::default());
    assert!(!is_hopper(&tight) && is_overlapping(&tight), "{:?}", tight.notes);
    assert!(tight.notes.iter().any(|n| n.contains("as well")), "{:?}", tight.notes);
    assert!(roomy.weight_bytes > 2 * tight.weight_bytes && roomy.weight_bytes < 4 * tight.weight_bytes);
    assert_eq!(roomy.bytes_per_token, tight.bytes_per_token);
    // Codes are not held where nothing reads them.
    let together = plan(140, CudaOptions { overlap: Some(false), ..CudaOptions::default() });
    assert!(is_hopper(&together) && !is_overlapping(&together));
    assert!(together.weight_bytes < roomy.weight_bytes);
    assert!(together.notes.iter().any(|n| n.contains("those values held in bf16")), "{:?}", together.notes);
}

#[test]
fn int8_of_widths_that_codes_do_not_fit_is_rounded_and_held_in_f32() {
    let config = Config { hidden: 70, intermediate: 102, ..tilewright_gate::seeded::small(Family::Llama) };
    let plan = int8(&config, CudaOptions::default(), &gpu(10 << 30));
    assert!(is_overlapping(&plan) && plan.notes.iter().any(|n| n.contains("no multiple of 4")));
    let wide = CudaOptions { weights: Some(WeightFormat::F32), ..CudaOptions::default() };
    let stored = Parameters::all(&config, &StoredType::Bf16);
    let wide = resolve_plan(&config, &stored, &wide, &gpu(10 << 30)).unwrap();
    assert_eq!((plan.weights, plan.weight_bytes), (WeightFormat::Int8, wide.weight_bytes));
}

#[test]
fn an_int8_cache_takes_half_of_bf16_and_the_paths_that_have_it() {
    let config = Preset::Qwen3Small.config();
    for weights in [WeightFormat::F32, WeightFormat::Bf16, WeightFormat::Int8] {
        let options =
            CudaOptions { weights: Some(weights), kv: Some(KvFormat::Int8), ..CudaOptions::default() };
        let stored = Parameters::all(&config, &StoredType::Bf16);
        let plan = resolve_plan(&config, &stored, &options, &gpu(140 << 30)).unwrap();
        assert_eq!((plan.weights, plan.kv), (weights, KvFormat::Int8));
        assert_eq!(plan.kv_bytes_per_position, 28 * 2 * 8 * (128 + 4));
        assert!(!is_persistent(&plan) && !is_hopper(&plan) && is_overlapping(&plan), "{:?}", plan.notes);
        let why = |part: &str| plan.notes.iter().any(|n| n.contains(part) && n.contains("KV cache in bf16"));
        assert!(why("persistent decoder") && why("kernels for Hopper"), "{:?}", plan.notes);
    }
}

/// Half a gigabyte was left to it, which the keys and values of one layer of a long prompt take alone.
#[test]
fn what_grows_with_a_long_sequence_is_left_room() {
    let config = Config { kv_heads: 8, heads: 32, head_dim: 128, ..Preset::Qwen3Small.config() };
    let positions = 131_072;
    let keys_and_values = 2 * 8 * positions as u64 * 128 * 2;
    assert_eq!(keys_and_values, 512 << 20);
    assert!(sizes::shared_bytes(&config, positions) > 2 * keys_and_values);
    assert!(sizes::shared_bytes(&config, 1024) < 64 << 20);
}
