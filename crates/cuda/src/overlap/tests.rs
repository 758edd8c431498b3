//! Which models overlapping launches take, and for how many positions.

use super::*;
use tilewright_gate::seeded::{Preset, small};
use tilewright_model::Family;

#[test]
fn caches_hold_a_power_of_two_or_all_that_the_model_holds() {
    let of = [(1, 512), (512, 512), (513, 1024), (30_000, 32_768), (40_000, 40_960)];
    assert_eq!(of.map(|(positions, _)| (positions, capacity(positions, 40_960))), of);
    assert_eq!([1, 60, 100, 200].map(|context| capacity(context, context)), [128, 128, 128, 224]);
}

#[test]
fn every_shape_in_f32_or_bf16_is_taken_but_a_very_wide_one() {
    for config in [small(Family::Qwen2), small(Family::Llama), Preset::Qwen3Small.config()] {
        for weights in [WeightFormat::F32, WeightFormat::Bf16] {
            assert_eq!(objection(&config, weights, KvFormat::Bf16, false), None);
        }
        assert!(objection(&config, WeightFormat::Int8, KvFormat::Bf16, false).is_some());
    }
    let wide = Config { hidden: 8192, ..Preset::Qwen3Small.config() };
    assert!(objection(&wide, WeightFormat::Bf16, KvFormat::Bf16, true).is_some());
}
