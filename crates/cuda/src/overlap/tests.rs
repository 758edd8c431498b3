//! Which models overlapping launches take, and for how many positions.

#![allow(clippy::panic, reason = "a failure here is a failed test")]

use super::*;
use tilewright_gate::seeded::{Preset, small};
use tilewright_model::Family;

#[test]
fn caches_hold_a_power_of_two_or_all_that_the_model_holds() {
    let of = [(1, 512), (512, 512), (513, 1024), (30_000, 32_768), (40_000, 40_960)];
    assert_eq!(of.map(|(positions, _)| (positions, capacity(positions, 40_960))), of);
    // Whole pages.
    assert_eq!([1, 256, 257, 700].map(|context| capacity(context, context)), [256, 256, 512, 768]);
}

#[test]
fn every_shape_in_every_format_is_taken_but_a_very_wide_one() {
    for config in [small(Family::Qwen2), small(Family::Llama), Preset::Qwen3Small.config()] {
        for weights in [WeightFormat::F32, WeightFormat::Bf16, WeightFormat::Int8] {
            assert_eq!(objection(&config, weights, KvFormat::Bf16, false), None);
        }
    }
    let wide = Config { hidden: 8192, ..Preset::Qwen3Small.config() };
    assert!(objection(&wide, WeightFormat::Bf16, KvFormat::Bf16, true).is_some());
}

#[test]
fn codes_are_taken_in_fours_and_else_the_numbers_they_stand_for() {
    let config = small(Family::Llama);
    let odd = Config { hidden: 70, intermediate: 102, ..config.clone() };
    let format = |config: &Config| uniform(config, WeightFormat::Int8);
    assert_eq!([format(&config), format(&odd)], [Format::INT8, Format::F32]);
}

/// Weights and caches in every format, in shapes of every kind.
#[test]
fn every_shape_has_steps_in_8_bits() {
    let ragged = Config { heads: 6, kv_heads: 3, vocab: 301, head_dim: 48, ..small(Family::Qwen2) };
    let odd = Config { hidden: 70, intermediate: 102, ..small(Family::Llama) };
    let large = Config { layers: 1, ..Preset::Qwen3Large.config() };
    for config in [small(Family::Qwen3), ragged, odd, large] {
        let stored = Parameters::all(&config, &StoredType::Bf16);
        for weights in [WeightFormat::F32, WeightFormat::Bf16, WeightFormat::Int8] {
            for kv in [KvFormat::F32, KvFormat::Bf16, KvFormat::Int8] {
                assert_eq!(objection(&config, weights, kv, false), None);
                let page = Layout::new(&config, kv, Some(2 << 20)).page_bytes();
                let options = options(&config, weights, kv, false).pages(page as u64);
                let shape = Shape::new(&config, capacity(0, config.max_positions) as u32);
                let formats = formats(&config, weights, &stored);
                for half in [step_of("step", &shape, &options, &formats), end("end", &shape, &options)] {
                    let half = half.unwrap_or_else(|e| panic!("{weights} {kv}: {e}"));
                    let half = half.verify().unwrap_or_else(|e| panic!("{weights} {kv}: {e}"));
                    let scales = half.resources().iter().any(|(_, r)| r.name == "cache_scales");
                    assert_eq!(scales, kv == KvFormat::Int8);
                }
            }
        }
    }
}
