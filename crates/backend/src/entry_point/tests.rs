//! The table of entry points, row by row.

use super::*;

fn request(name: &str, on: &[Switch]) -> (Attention, Gemm) {
    let ExecutionRequest { attention, gemm } = EntryPoint::find(name).unwrap().request(on);
    (attention, gemm)
}

#[test]
fn without_switches_every_fixed_function_asks_for_the_plain_path() {
    for entry in ENTRY_POINTS.iter().filter(|entry| entry.fixed) {
        assert_eq!(request(entry.name, &[]), (Attention::Off, Gemm::Original), "{}", entry.name);
    }
}

#[test]
fn with_every_switch_on_each_function_asks_for_what_its_name_says() {
    let expected = [
        ("qwen3_i8_allsimd7_decode_flat", Attention::Off, Gemm::Original),
        ("qwen3_i8_allsimd7_prefill_decode_flat", Attention::Off, Gemm::Original),
        ("qwen3_i8_allsimd7_prefill_decode_flat_af", Attention::Grouped, Gemm::Original),
        ("qwen3_i8_allsimd7_prefill_decode_flat_af_vecload4", Attention::Grouped, Gemm::Vecload4),
        ("qwen3_i8_allsimd7_prefill_decode_flat_af_msl", Attention::Grouped, Gemm::MslParity),
        ("qwen3_i8_allsimd7_prefill_decode_flat_af_nomirror", Attention::GroupedNoMirror, Gemm::Bm64),
        (
            "qwen3_i8_allsimd7_prefill_decode_flat_af_nomirror_vecload4",
            Attention::GroupedNoMirror,
            Gemm::Vecload4,
        ),
        (
            "qwen3_i8_allsimd7_prefill_decode_flat_af_nomirror_msl",
            Attention::GroupedNoMirror,
            Gemm::MslParity,
        ),
        ("qwen3_prefill_decode_flat_af_nomirror_msl_anyqwen3", Attention::GroupedNoMirror, Gemm::MslParity),
        (
            "qwen3_prefill_decode_flat_af_nomirror_msl_anyqwen3_sampled",
            Attention::GroupedNoMirror,
            Gemm::MslParity,
        ),
        ("qwen3_batched_prefill_decode_anyqwen3", Attention::GroupedNoMirror, Gemm::MslParity),
    ];
    assert_eq!(ENTRY_POINTS.map(|entry| entry.name), expected.map(|(name, ..)| name));
    for (name, attention, gemm) in expected {
        assert_eq!(request(name, &Switch::ALL), (attention, gemm), "{name}");
    }
}

#[test]
fn switches_a_function_does_not_have_change_nothing() {
    let all = Switch::ALL;
    for entry in &ENTRY_POINTS {
        assert_eq!(entry.request(entry.switches), entry.request(&all), "{}", entry.name);
    }
}

#[test]
fn sampled_and_batched_never_leave_the_path_without_mirror() {
    assert_eq!(
        request("qwen3_prefill_decode_flat_af_nomirror_msl_anyqwen3_sampled", &[]),
        (Attention::GroupedNoMirror, Gemm::MslParity)
    );
    assert_eq!(
        request("qwen3_batched_prefill_decode_anyqwen3", &[]),
        (Attention::GroupedNoMirror, Gemm::Original)
    );
}

#[test]
fn only_the_first_takes_its_prompt_in_steps_and_three_take_any_model() {
    let steps: Vec<_> = ENTRY_POINTS.iter().filter(|e| e.kind == Kind::Steps).map(|e| e.name).collect();
    assert_eq!(steps, ["qwen3_i8_allsimd7_decode_flat"]);
    assert_eq!(ENTRY_POINTS.iter().filter(|entry| !entry.fixed).count(), 3);
    assert_eq!(ENTRY_POINTS.iter().filter(|entry| entry.warmup).count(), 3);
    assert!(EntryPoint::find("qwen3_decode").is_none());
}
