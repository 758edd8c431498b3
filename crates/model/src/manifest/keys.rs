//! The keys of `config` in `manifest.json`.

use super::MAX_POSITIONS;
use crate::schema::{Families, Key, Rule, Value};

const fn key(name: &'static str, required: Families, rule: Rule, meaning: &'static str) -> Key {
    Key { name, known: Families::All, required, rule, meaning }
}

const ALL: Families = Families::All;
const NONE: Families = Families::NONE;
const BIT: Rule = Rule::size(0, 1, 1);

/// Every key with a meaning here.
#[rustfmt::skip]
pub(crate) const KEYS: &[Key] = &[
    key("hidden_size", ALL, Rule::size(32, 65_536, 32), "width of the residual stream"),
    key("num_hidden_layers", ALL, Rule::size(1, 128, 1), "decoder layers"),
    key("num_attention_heads", ALL, Rule::size(1, 1_024, 1), "query heads"),
    key("num_key_value_heads", ALL, Rule::size(1, 1_024, 1), "key/value heads"),
    key("head_dim", ALL, crate::config::HEAD_DIM, "width of one head"),
    key("intermediate_size", ALL, Rule::size(32, 1_048_576, 32), "width of the SwiGLU product"),
    key("vocab_size", ALL, Rule::size(1, 2_097_152, 1), "rows of embedding and head"),
    key("rope_theta", ALL, Rule::AT_LEAST_ONE, "base of the rotary frequencies"),
    key("rms_norm_eps", ALL, Rule::EPSILON, "epsilon of every RMSNorm"),
    key("n_tokens", ALL, Rule::size(0, MAX_POSITIONS as u64, 1), "length of `input_ids`"),
    key("has_qk_norm", NONE, BIT, "per-head norm of queries and keys; the three flags are absent together in the fixed form, which is Qwen3-0.6B-Base"),
    key("tie_word_embeddings", NONE, BIT, "whether the head is the embedding"),
    key("attention_bias", NONE, BIT, "whether q, k and v add a bias"),
    key("eos_token_id", NONE, Rule::Own, "id or ids that end a text"),
    key("weights_dtype", NONE, Rule::Only(&[Value::Text("f32"), Value::Text("f64")]), "type of the elements; absent: f64"),
    key("rope_scaling_type", NONE, Rule::Only(&[Value::Number(3.0)]), "llama3 scaling"),
    key("rope_scaling_factor", NONE, Rule::Number { min: 1.0, from_min: true, max: f64::MAX }, "divisor of the low frequencies"),
    key("rope_scaling_low_freq_factor", NONE, Rule::POSITIVE, "where scaling starts; absent: 1"),
    key("rope_scaling_high_freq_factor", NONE, Rule::POSITIVE, "where scaling is whole; absent: 4"),
    key("rope_scaling_original_max_position_embeddings", NONE, Rule::size(1, 1 << 30, 1), "positions of the original training"),
    key("rope_freq_factors", NONE, Rule::Own, "a divisor for each frequency, in place of any other scaling"),
];
