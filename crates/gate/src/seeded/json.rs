//! `config.json` and `generation_config.json` as Hugging Face writes them.

use serde_json::{Value, json};
use tilewright_model::{Code, Config, Family, Refusal, RopeScaling, StoredType};

/// # Errors
/// [`Code::UnsupportedArchitecture`] for explicit rotary factors, which `config.json` cannot state.
pub(super) fn config(config: &Config) -> Result<Value, Refusal> {
    let (model_type, architecture) = match config.family {
        Family::Qwen3 => ("qwen3", "Qwen3ForCausalLM"),
        Family::Qwen2 => ("qwen2", "Qwen2ForCausalLM"),
        Family::Llama => ("llama", "LlamaForCausalLM"),
        Family::Mistral => ("mistral", "MistralForCausalLM"),
    };
    let stored = match config.stored.unwrap_or(StoredType::Bf16) {
        StoredType::F64 => "float64",
        StoredType::F32 => "float32",
        StoredType::F16 => "float16",
        _ => "bfloat16",
    };
    let mut value = json!({
        "architectures": [architecture],
        "model_type": model_type,
        "hidden_size": config.hidden,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_dim,
        "intermediate_size": config.intermediate,
        "vocab_size": config.vocab,
        "hidden_act": "silu",
        "rms_norm_eps": config.norm_eps,
        "rope_theta": config.rope.theta,
        "rope_scaling": rope_scaling(&config.rope.scaling)?,
        "tie_word_embeddings": config.tied,
        "max_position_embeddings": config.max_positions,
        "bos_token_id": config.bos,
        "eos_token_id": eos(config),
        "torch_dtype": stored,
    });
    if matches!(config.family, Family::Qwen3 | Family::Llama) {
        // Qwen2 always has the bias and Mistral never; neither states it.
        value["attention_bias"] = json!(config.qkv_bias);
    }
    Ok(value)
}

pub(super) fn generation_config(config: &Config) -> Value {
    json!({"bos_token_id": config.bos, "eos_token_id": eos(config), "do_sample": false})
}

/// One id bare, none as null, several as a list.
fn eos(config: &Config) -> Value {
    match config.eos.as_slice() {
        [] => Value::Null,
        [id] => json!(id),
        ids => json!(ids),
    }
}

fn rope_scaling(scaling: &RopeScaling) -> Result<Value, Refusal> {
    Ok(match scaling {
        RopeScaling::None => Value::Null,
        RopeScaling::Linear { factor } => json!({"rope_type": "linear", "factor": factor}),
        RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_positions } => json!({
            "rope_type": "llama3",
            "factor": factor,
            "low_freq_factor": low_freq_factor,
            "high_freq_factor": high_freq_factor,
            "original_max_position_embeddings": original_max_positions,
        }),
        RopeScaling::Yarn { factor, original_max_positions, beta_fast, beta_slow, attention_factor } => {
            let mut value = json!({
                "rope_type": "yarn",
                "factor": factor,
                "original_max_position_embeddings": original_max_positions,
                "beta_fast": beta_fast,
                "beta_slow": beta_slow,
            });
            if let Some(given) = attention_factor {
                value["attention_factor"] = json!(given);
            }
            value
        }
        RopeScaling::Factors(_) => {
            let expected = "a scaling that config.json can state";
            return Err(Refusal::new(
                Code::UnsupportedArchitecture,
                "rope_scaling",
                expected,
                "explicit factors",
            ));
        }
    })
}
