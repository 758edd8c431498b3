//! The configuration as metadata.

use super::{Quant, divisors};
use crate::gguf::write::Writer;
use crate::{Checkpoint, Code, Family, Refusal, RopeScaling};

/// Writes the keys of the model; gives divisors of the rotary frequencies that have to be written as a tensor.
///
/// # Errors
/// `inexact_conversion` for what the format cannot state.
pub(super) fn write(
    checkpoint: &Checkpoint,
    quant: Option<Quant>,
    writer: &mut Writer,
) -> Result<Option<Vec<f64>>, Refusal> {
    let config = checkpoint.config();
    let architecture = match config.family {
        Family::Qwen3 => "qwen3",
        Family::Qwen2 => "qwen2",
        Family::Llama | Family::Mistral => "llama",
    };
    if config.qkv_bias && config.family == Family::Qwen3 {
        return Err(inexact("attention_bias", "none, for GGUF's qwen3 has none", "true"));
    }
    writer.text("general.architecture", architecture);
    writer.text("general.type", "model");
    writer.u32("general.quantization_version", 2);
    if let Some(quant) = quant {
        // The numbers by which other tools know the mixtures.
        let number = match quant {
            Quant::Q4_0 => 2,
            Quant::Q8_0 => 7,
            Quant::Q4KM => 15,
        };
        writer.u32("general.file_type", number);
    }
    let key = |name: &str| format!("{architecture}.{name}");
    for (name, value) in [
        ("block_count", config.layers),
        ("context_length", config.max_positions),
        ("embedding_length", config.hidden),
        ("feed_forward_length", config.intermediate),
        ("attention.head_count", config.heads),
        ("attention.head_count_kv", config.kv_heads),
        ("attention.key_length", config.head_dim),
        ("attention.value_length", config.head_dim),
        ("rope.dimension_count", config.head_dim),
        ("vocab_size", config.vocab),
    ] {
        writer.u32(&key(name), value);
    }
    writer.f32(&key("attention.layer_norm_rms_epsilon"), config.norm_eps);
    writer.f32(&key("rope.freq_base"), config.rope.theta);
    match &config.rope.scaling {
        RopeScaling::None | RopeScaling::Factors(_) | RopeScaling::Llama3 { .. } => {}
        RopeScaling::Linear { factor } => {
            writer.text(&key("rope.scaling.type"), "linear");
            writer.f32(&key("rope.scaling.factor"), *factor);
        }
        RopeScaling::Yarn { factor, original_max_positions, beta_fast, beta_slow, attention_factor } => {
            if let Some(given) = attention_factor {
                return Err(inexact("attention_factor", "none, for GGUF computes it", &given.to_string()));
            }
            writer.text(&key("rope.scaling.type"), "yarn");
            writer.f32(&key("rope.scaling.factor"), *factor);
            writer.u32(&key("rope.scaling.original_context_length"), *original_max_positions);
            writer.f32(&key("rope.scaling.yarn_beta_fast"), *beta_fast);
            writer.f32(&key("rope.scaling.yarn_beta_slow"), *beta_slow);
        }
    }
    Ok(divisors(checkpoint))
}

/// A refusal for something that GGUF has no place for.
pub(super) fn inexact(what: &str, expected: &str, got: &str) -> Refusal {
    Refusal::new(Code::InexactConversion, what, expected, got)
}
