//! `generation_config.json`: closed, like the configuration.

use serde_json::{Value, json};
use tilewright_model::{Code, StopSource};

use crate::build::{Folder, whats};

fn with(generation: &Value) -> Folder {
    Folder::valid().with("generation_config.json", generation.to_string())
}

#[test]
fn another_way_of_generating_is_named() {
    let cases = [
        ("num_beams", json!(4)),
        ("penalty_alpha", json!(0.6)),
        ("typical_p", json!(0.9)),
        ("no_repeat_ngram_size", json!(3)),
        ("bad_words_ids", json!([[1]])),
        ("suppress_tokens", json!([1])),
        ("forced_bos_token_id", json!(1)),
        ("guidance_scale", json!(1.5)),
        ("watermarking_config", json!({"bias": 2.0})),
        ("mystery", json!(1)),
    ];
    for (key, value) in cases {
        let refusal = with(&json!({key: value})).refused(Code::GenerationConfigInvalid);
        assert_eq!(whats(&refusal), [key]);
    }
}

#[test]
fn a_value_out_of_its_domain_is_named() {
    let cases = [
        ("temperature", json!(-0.1)),
        ("temperature", json!("hot")),
        ("top_p", json!(0)),
        ("top_p", json!(1.5)),
        ("min_p", json!(-0.1)),
        ("top_k", json!(-1)),
        ("top_k", json!(2.5)),
        ("repetition_penalty", json!(0)),
        ("do_sample", json!(1)),
        ("eos_token_id", json!([2, 8])),
        ("stop_strings", json!(["a", ""])),
    ];
    for (key, value) in cases {
        let refusal = with(&json!({key: value})).refused(Code::GenerationConfigInvalid);
        assert_eq!(whats(&refusal), [key]);
    }
    Folder::valid().with("generation_config.json", "[]").refused(Code::GenerationConfigInvalid);
}

#[test]
fn what_is_stated_is_kept_and_nothing_else() {
    let stated = json!({
        "do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "eos_token_id": [5, 2],
        "num_beams": 1, "typical_p": 1.0, "max_length": 4096, "pad_token_id": 0, "min_p": null,
    });
    let checkpoint = with(&stated).open().unwrap();
    let generation = checkpoint.generation_config();
    assert_eq!((generation.do_sample, generation.temperature), (Some(true), Some(0.6)));
    assert_eq!((generation.top_k, generation.top_p, generation.min_p), (Some(20), Some(0.95), None));
    assert!(generation.present && !Folder::valid().open().unwrap().generation_config().present);
}

#[test]
fn the_stop_set_is_the_union_in_the_written_order() {
    let tokenizer =
        json!({"eos_token": {"content": "<end>"}, "added_tokens_decoder": {"6": {"content": "<end>"}}});
    let checkpoint = with(&json!({"eos_token_id": [5, 2]}))
        .with("tokenizer_config.json", tokenizer.to_string())
        .open()
        .unwrap();
    let stops: Vec<_> = checkpoint.stop_set().entries().iter().map(|e| (e.id, e.sources.clone())).collect();
    let expected = [
        (5, vec![StopSource::GenerationConfig]),
        (2, vec![StopSource::GenerationConfig, StopSource::Config]),
        (6, vec![StopSource::Tokenizer]),
    ];
    assert_eq!(stops, expected);
    assert!(checkpoint.stop_set().contains(6) && !checkpoint.stop_set().contains(1));
}

#[test]
fn without_generation_settings_the_other_sources_stand() {
    let checkpoint = Folder::valid().open().unwrap();
    assert_eq!(checkpoint.stop_set().ids().collect::<Vec<_>>(), [2]);
}
