//! The shape of the one model that the fixed entry point `qwen3_i8_allsimd7` is defined for: Qwen3-0.6B-Base.
//!
//! Everything else runs by its own facts; this gate exists only for callers of that entry point.

use serde_json::{Value, json};

use crate::json::Object;
use crate::{Code, Config, Finding, Refusal};

/// The ten facts, by their keys in `config.json`.
fn facts() -> [(&'static str, Value); 10] {
    [
        ("hidden_size", json!(1024)),
        ("num_hidden_layers", json!(28)),
        ("num_attention_heads", json!(16)),
        ("num_key_value_heads", json!(8)),
        ("head_dim", json!(128)),
        ("intermediate_size", json!(3072)),
        ("vocab_size", json!(151_936)),
        ("tie_word_embeddings", json!(true)),
        ("attention_bias", json!(false)),
        ("hidden_act", json!("silu")),
    ]
}

/// Checks a `config.json` as stated: a key that is missing is a mismatch.
///
/// # Errors
/// `fixed_shape_mismatch` naming every field that differs.
pub fn check_stated(config: &Object) -> Result<(), Refusal> {
    let mismatch = |(key, expected): (&str, Value)| match config.get(key) {
        Some(got) if *got == expected => None,
        Some(got) => Some(Finding::new(key, expected, crate::json::show(got))),
        None => Some(Finding::new(key, expected, "absent")),
    };
    Refusal::check(Code::FixedShapeMismatch, facts().into_iter().filter_map(mismatch).collect())
}

/// Checks a configuration that has been read, where every fact is known.
///
/// # Errors
/// `fixed_shape_mismatch` naming every field that differs.
pub fn check(config: &Config) -> Result<(), Refusal> {
    let stated = json!({
        "hidden_size": config.hidden,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_dim,
        "intermediate_size": config.intermediate,
        "vocab_size": config.vocab,
        "tie_word_embeddings": config.tied,
        "attention_bias": config.qkv_bias,
        "hidden_act": "silu",
    });
    check_stated(stated.as_object().unwrap_or(&Object::new()))
}
