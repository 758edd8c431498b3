//! Sizes of the tape, and which shapes are taken.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use super::*;
use tilewright_gate::seeded::Preset;

fn hopper() -> Gpu {
    Gpu {
        ordinal: 0,
        name: "NVIDIA Hopper".into(),
        capability: (9, 0),
        multiprocessors: 132,
        shared_memory: 232_448,
        memory: 141 << 30,
        free: 140 << 30,
        granularity: Some(2 << 20),
        driver: (13, 0),
    }
}

#[test]
fn the_tape_holds_every_weight_once() {
    let config = Preset::Qwen3Small.config();
    for (int8, chunks, bytes) in [(false, [8, 4, 12, 6], 2), (true, [4, 2, 6, 3], 1)] {
        let tape = Tape::new(&config, int8);
        assert_eq!([0, 1, 2, 3].map(|kind| tape.parts[kind].chunks(int8)), chunks);
        let layer = config.hidden * (config.q_width() * 2 + 2 * config.kv_width() + 3 * config.intermediate);
        assert_eq!(tape.first(1, 0) * CHUNK * WORKERS, layer * bytes);
        assert_eq!(tape.first(1, 2) - tape.first(1, 0), chunks[0] + chunks[1]);
        assert_eq!(tape.first_pair(1, 0) * WORKERS * 2, layer / 128);
        let head = config.vocab * config.hidden * bytes;
        let padded = tape.parts[4].chunks(int8) * CHUNK * WORKERS;
        assert!(padded >= head && padded - head < WORKERS * 4 * CHUNK);
    }
}

#[test]
fn a_model_is_taken_or_the_reason_said() {
    let config = Preset::Qwen3Small.config();
    let (weights, kv) = (WeightFormat::Bf16, KvFormat::Bf16);
    assert_eq!(objection(&config, weights, kv, &hopper()), None);
    let reason = |config: &Config, weights, kv, gpu: &Gpu| objection(config, weights, kv, gpu).unwrap();
    assert!(reason(&config, WeightFormat::F32, kv, &hopper()).contains("bf16"));
    assert!(reason(&config, weights, KvFormat::F32, &hopper()).contains("bf16"));
    let large = Preset::Qwen3Large.config();
    assert!(reason(&large, WeightFormat::Int8, kv, &hopper()).contains("2,560"));
    for (config, part) in [
        (Preset::SmolLm2.config(), "eight key heads"),
        (Config { kv_heads: 4, ..large.clone() }, "eight key heads"),
        (Config { heads: 24, ..large.clone() }, "eight key heads"),
        (Config { qkv_bias: true, ..large.clone() }, "biases"),
        (Config { hidden: 5120, ..large.clone() }, "hidden size"),
        (Config { hidden: 2304, ..large.clone() }, "hidden size"),
        (Config { intermediate: 17_408, ..large.clone() }, "MLP"),
        (Config { vocab: 2040, ..large }, "vocabulary"),
    ] {
        assert!(reason(&config, weights, kv, &hopper()).contains(part), "{part}");
    }
    let gpu = Gpu { multiprocessors: 114, ..hopper() };
    assert!(reason(&config, weights, kv, &gpu).contains("multiprocessors"));
    let gpu = Gpu { capability: (8, 0), ..hopper() };
    assert!(reason(&config, weights, kv, &gpu).contains("9.0"));
}

/// Qwen3 from 1.7B to 8B and Llama-3-8B: hidden size, heads, width of the MLP.
#[test]
fn larger_models_of_eight_key_heads_are_taken_and_fit() {
    let shapes = [(2048, 16, 6144, 22), (2560, 32, 9728, 22), (4096, 32, 12_288, 20), (4096, 32, 14_336, 20)];
    for (hidden, heads, intermediate, ring) in shapes {
        let config = Config { hidden, heads, intermediate, ..Preset::Qwen3Large.config() };
        assert_eq!(objection(&config, WeightFormat::Bf16, KvFormat::Bf16, &hopper()), None, "{hidden}");
        assert_eq!(slots(&config), ring, "{hidden}");
        assert!(shared_bytes(&config) <= SHARED);
        // Padded, if 128 workers cannot each have a multiple of eight rows of the MLP.
        let tape = Tape::new(&config, false);
        let mid = tape.parts[3].steps * 128 * 8;
        assert!(mid >= intermediate && mid - intermediate < 8 * WORKERS, "{mid}");
    }
    assert_eq!(slots(&Preset::Qwen3Small.config()), 24);
}

#[test]
fn a_timeout_says_who_waited_for_what() {
    let refusal = timeout([1, 3, 77, 12, 900]);
    assert_eq!(refusal.code(), Code::DeviceTimeout);
    let text = refusal.to_string();
    assert!(text.contains("attention") && text.contains("worker 77") && text.contains("place 900"), "{text}");
}
