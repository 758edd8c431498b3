//! What is decided from facts, and what is refused.

use std::path::Path;

use tilewright_backend::DeviceKind;
use tilewright_backend::execution::DecodeRoute;
use tilewright_model::Checkpoint;

use super::*;

fn facts() -> Facts {
    Facts {
        tensor_operations: true,
        kind: DeviceKind::Metal,
        name: "Apple M0".to_owned(),
        memory: Some(1 << 30),
        largest_buffer: 1 << 29,
        threadgroup_memory: 32 * 1024,
    }
}

fn config(name: &str) -> Config {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/fixtures").join(name);
    Checkpoint::open(&folder).unwrap().config().clone()
}

fn plan(config: &Config, options: &MetalOptions, facts: &Facts) -> Result<Plan, Refusal> {
    resolve_plan(config, &Parameters::all(config, &StoredType::Bf16), options, facts)
}

fn execution(plan: &Plan) -> ExecutionPlan {
    let Kernels::Staged(execution) = plan.kernels else { panic!("{:?}", plan.kernels) };
    execution
}

fn codes(result: Result<Plan, Refusal>) -> (Code, usize) {
    let refusal = result.unwrap_err();
    (refusal.code(), refusal.findings().len())
}

#[test]
fn heads_choose_the_usual_attention() {
    let cases = [
        ("qwen3-d128-wide-q", Attention::GroupedNoMirror, KvFormat::F16),
        ("llama-d64-odd-heads", Attention::ParametricNativeDecode, KvFormat::F16),
        ("qwen3-sharded-f16", Attention::ParametricNativeDecode, KvFormat::F16),
        ("qwen3-tiny", Attention::Off, KvFormat::F32),
        ("qwen2-bias", Attention::Off, KvFormat::F32),
    ];
    for (name, attention, kv) in cases {
        let plan = plan(&config(name), &MetalOptions::default(), &facts()).unwrap();
        assert_eq!((execution(&plan).attention(), plan.kv), (Some(attention), kv), "{name}");
        assert_eq!(execution(&plan).gemm(), ByRole::all(Gemm::MslParity));
        assert_eq!((plan.weights, plan.prefill_chunk), (WeightFormat::Int8, 2048));
    }
    let grouped = MetalOptions { attention: Some(Attention::GroupedNoMirror), ..MetalOptions::default() };
    let plan = plan(&config("llama-d64-odd-heads"), &grouped, &facts()).unwrap();
    assert_eq!(execution(&plan).attention(), Some(Attention::GroupedNoMirror), "asked for by name");
}

#[test]
fn a_cache_asked_for_chooses_an_attention_that_fills_it() {
    let asked = |kv| MetalOptions { kv: Some(kv), ..MetalOptions::default() };
    let wide = config("qwen3-d128-wide-q");
    let natural = plan(&wide, &asked(KvFormat::F32), &facts()).unwrap();
    assert_eq!(execution(&natural).attention(), Some(Attention::Off));
    let packed = plan(&config("qwen3-tiny"), &asked(KvFormat::F16), &facts()).unwrap();
    assert_eq!(execution(&packed).decode(), DecodeRoute::Native);
    let both = MetalOptions { attention: Some(Attention::Off), ..asked(KvFormat::F16) };
    assert_eq!(codes(plan(&wide, &both, &facts())), (Code::DeviceOptionInvalid, 1));
}

#[test]
fn what_the_device_has_no_room_for_gives_way_and_is_told() {
    let small = Facts { threadgroup_memory: 12 * 1024, ..facts() };
    let plan = plan(&config("qwen3-d128-wide-q"), &MetalOptions::default(), &small).unwrap();
    let execution = execution(&plan);
    assert_eq!(execution.attention(), Some(Attention::GroupedNoMirror));
    assert_ne!(execution.gemm().qkv, Gemm::MslParity, "its tiles take 16 KiB");
    let told = plan.notes.iter().filter(|note| note.contains("no kernel of msl_parity")).count();
    assert_eq!(told, 3, "{:?}", plan.notes);
}

#[test]
fn every_option_out_of_range_is_told_at_once() {
    let config = config("qwen3-tiny");
    for kv in [KvFormat::Bf16, KvFormat::Int8] {
        let options = MetalOptions {
            kv: Some(kv),
            context: Some(config.max_positions + 1),
            prefill_chunk: Some(2049),
            ..MetalOptions::default()
        };
        assert_eq!(codes(plan(&config, &options, &facts())), (Code::DeviceOptionInvalid, 3));
    }
    let none = MetalOptions { context: Some(0), prefill_chunk: Some(0), ..MetalOptions::default() };
    assert_eq!(codes(plan(&config, &none, &facts())), (Code::DeviceOptionInvalid, 2));
}

#[test]
fn a_context_that_does_not_fit_is_refused_when_asked_for_and_cut_when_not() {
    let config = config("qwen3-tiny");
    let all = plan(&config, &MetalOptions::default(), &facts()).unwrap();
    assert_eq!(all.context, config.max_positions);
    let room = all.weight_bytes + all.kv_bytes_per_position * 1024;
    let little = Facts { memory: Some(room), ..facts() };
    let cut = plan(&config, &MetalOptions::default(), &little).unwrap();
    assert_eq!(cut.context, 1024);
    assert!(cut.notes.iter().any(|note| note.contains("context 1024")), "{:?}", cut.notes);
    let asked = |positions| MetalOptions { context: Some(positions), ..MetalOptions::default() };
    assert_eq!(plan(&config, &asked(1024), &little).unwrap().context, 1024);
    assert_eq!(codes(plan(&config, &asked(1025), &little)), (Code::OutOfMemory, 1), "its cache is for 2,048");
    let none = Facts { memory: Some(all.weight_bytes), ..facts() };
    assert_eq!(codes(plan(&config, &MetalOptions::default(), &none)), (Code::OutOfMemory, 1));
}

#[test]
fn layers_that_no_buffer_holds_are_refused() {
    let small = Facts { largest_buffer: 1000, ..facts() };
    let refused = plan(&config("qwen3-tiny"), &MetalOptions::default(), &small);
    assert_eq!(codes(refused), (Code::BufferAllocFailed, 1));
}

#[test]
fn caches_are_made_for_powers_of_two_from_512() {
    assert_eq!([1, 512, 513, 4000, 65_536].map(capacity), [512, 512, 1024, 4096, 65_536]);
}

#[test]
fn blocks_are_held_as_they_are_stored_and_others_are_told_by_name() {
    let config = config("qwen3-tiny");
    let mut stored = Parameters::all(&config, &StoredType::Q8_0);
    stored.layers[1].v = StoredType::Q5_0;
    stored.layers[0].down = StoredType::Q4_0;
    let blocks = resolve_plan(&config, &stored, &MetalOptions::default(), &facts()).unwrap();
    assert_eq!(blocks.weights, WeightFormat::Gguf);
    let told = |note: &str| blocks.notes.iter().any(|line| line.contains(note));
    let down = config.hidden * config.intermediate * 9 / 16;
    assert!(
        told(&format!("q4_0 ({down} bytes)")) && told("v: q5_0 held as q8_0 in layer 1"),
        "{:?}",
        blocks.notes
    );
    // Two layers and a tied head, 8.5 bits but for the one matrix of 4.5, and the norms.
    let Config { hidden, intermediate, vocab, head_dim, .. } = config;
    let projections = (2 * config.q_width() + 2 * config.kv_width()) * hidden;
    let elements = vocab * hidden + 2 * (projections + 3 * hidden * intermediate);
    let matrices = elements * 34 / 32 - hidden * intermediate / 2;
    assert_eq!(blocks.weight_bytes as usize, matrices + 4 * (5 * hidden + 4 * head_dim));
    stored.layers[1].gate = StoredType::F32;
    let mixed = resolve_plan(&config, &stored, &MetalOptions::default(), &facts()).unwrap();
    for told in ["gate: f32 held as q8_0, since gate and up", "up: q8_0 held as q8_0"] {
        let is_told = mixed.notes.iter().any(|line| line.contains(told));
        assert_eq!(is_told, told.starts_with("gate"), "{:?}", mixed.notes);
    }
    let asked = MetalOptions { weights: Some(WeightFormat::Gguf), ..MetalOptions::default() };
    assert_eq!(codes(plan(&config, &asked, &facts())), (Code::DeviceOptionInvalid, 1), "bf16 are no blocks");
}

/// E70: only who asks for them gets tensor operations, and only from a device that has them.
#[test]
fn tensor_operations_are_taken_only_when_asked_for_and_there() {
    let config = config("qwen3-d128-wide-q");
    let asked = MetalOptions { gemm: Some(Gemm::TensorOps), ..MetalOptions::default() };
    let gemm = |options: &MetalOptions, facts: &Facts| {
        let plan = plan(&config, options, facts).unwrap();
        (execution(&plan).gemm(), plan.notes)
    };
    assert_eq!(gemm(&MetalOptions::default(), &facts()).0, ByRole::all(Gemm::MslParity));
    assert_eq!(gemm(&asked, &facts()).0, ByRole::all(Gemm::TensorOps));
    let none = Facts { tensor_operations: false, ..facts() };
    let (got, notes) = gemm(&asked, &none);
    assert_eq!(got, ByRole::all(Gemm::MslParity));
    let told = notes.iter().filter(|note| note.contains("msl_parity: no kernel of tensor_ops")).count();
    assert_eq!(told, 3, "{notes:?}");
}
