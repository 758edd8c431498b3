//! Configurations as published models state them: which are accepted, and what is said about the others.

use serde_json::{Value, json};
use tilewright_model::{Code, Config, RopeScaling, fixed_arm};

use crate::build::{changed, whats};

/// Joins two objects.
fn joined(mut base: Value, more: &Value) -> Value {
    base.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    base
}

/// What every writer of these families adds.
fn common(model_type: &str, architecture: &str) -> Value {
    json!({
        "architectures": [architecture], "model_type": model_type, "attention_dropout": 0.0, "hidden_act": "silu",
        "initializer_range": 0.02, "torch_dtype": "bfloat16", "transformers_version": "4.51.0", "use_cache": true,
    })
}

fn qwen3_0_6b_base() -> Value {
    let facts = json!({
        "attention_bias": false, "bos_token_id": 151643, "eos_token_id": 151643, "head_dim": 128,
        "hidden_size": 1024, "intermediate_size": 3072, "max_position_embeddings": 32768, "max_window_layers": 28,
        "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8, "rms_norm_eps": 1e-06,
        "rope_scaling": null, "rope_theta": 1000000, "sliding_window": null, "tie_word_embeddings": true,
        "use_sliding_window": false, "vocab_size": 151936,
    });
    joined(common("qwen3", "Qwen3ForCausalLM"), &facts)
}

fn qwen2_5_7b() -> Value {
    let facts = json!({
        "bos_token_id": 151643, "eos_token_id": 151645, "hidden_size": 3584, "intermediate_size": 18944,
        "max_position_embeddings": 32768, "max_window_layers": 28, "num_attention_heads": 28,
        "num_hidden_layers": 28, "num_key_value_heads": 4, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
        "sliding_window": 131072, "tie_word_embeddings": false, "use_mrope": false, "use_sliding_window": false,
        "vocab_size": 152064,
    });
    joined(common("qwen2", "Qwen2ForCausalLM"), &facts)
}

fn llama_3_2_1b() -> Value {
    let facts = json!({
        "attention_bias": false, "bos_token_id": 128000, "eos_token_id": [128001, 128008, 128009], "head_dim": 64,
        "hidden_size": 2048, "intermediate_size": 8192, "max_position_embeddings": 131072, "mlp_bias": false,
        "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8, "pretraining_tp": 1,
        "rms_norm_eps": 1e-05, "rope_theta": 500000.0, "tie_word_embeddings": true, "vocab_size": 128256,
        "rope_scaling": {
            "factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
            "original_max_position_embeddings": 8192, "rope_type": "llama3",
        },
    });
    joined(common("llama", "LlamaForCausalLM"), &facts)
}

fn llama_2_7b() -> Value {
    json!({
        "_name_or_path": "meta-llama/Llama-2-7b-hf", "architectures": ["LlamaForCausalLM"], "bos_token_id": 1,
        "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
        "intermediate_size": 11008, "max_position_embeddings": 4096, "model_type": "llama",
        "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32, "pretraining_tp": 1,
        "rms_norm_eps": 1e-05, "rope_scaling": null, "tie_word_embeddings": false, "torch_dtype": "float16",
        "transformers_version": "4.31.0.dev0", "use_cache": true, "vocab_size": 32000,
    })
}

fn smollm2_135m() -> Value {
    let facts = json!({
        "attention_bias": false, "bos_token_id": 1, "eos_token_id": 2, "hidden_size": 576,
        "intermediate_size": 1536, "is_llama_config": true, "max_position_embeddings": 8192, "mlp_bias": false,
        "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3, "pad_token_id": 2,
        "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_interleaved": false, "rope_scaling": null,
        "rope_theta": 100000, "tie_word_embeddings": true, "vocab_size": 49152,
        "transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16", "fp16": "float16"}},
    });
    joined(common("llama", "LlamaForCausalLM"), &facts)
}

fn mistral_7b(window: Value) -> Value {
    let facts = json!({
        "bos_token_id": 1, "eos_token_id": 2, "hidden_size": 4096, "intermediate_size": 14336,
        "max_position_embeddings": 32768, "num_attention_heads": 32, "num_hidden_layers": 32,
        "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "sliding_window": window,
        "tie_word_embeddings": false, "vocab_size": 32768,
    });
    joined(common("mistral", "MistralForCausalLM"), &facts)
}

#[track_caller]
fn accepted(config: &Value) -> Config {
    Config::from_json(config.to_string().as_bytes()).unwrap()
}

#[track_caller]
fn refused(config: &Value, about: &[&str]) {
    let refusal = Config::from_json(config.to_string().as_bytes()).unwrap_err();
    assert_eq!(refusal.code(), Code::UnsupportedArchitecture, "{refusal}");
    for what in about {
        assert!(whats(&refusal).contains(what), "{what} in {refusal}");
    }
}

#[test]
fn the_supported_families_are_accepted_as_published() {
    assert_eq!(accepted(&qwen3_0_6b_base()).q_width(), 2048);
    assert_eq!(accepted(&qwen2_5_7b()).head_dim, 128);
    assert!(matches!(accepted(&llama_3_2_1b()).rope.scaling, RopeScaling::Llama3 { factor: 32.0, .. }));
    assert_eq!(accepted(&llama_3_2_1b()).eos, [128_001, 128_008, 128_009]);
    assert_eq!(accepted(&llama_2_7b()).rope.theta, 10_000.0);
    assert_eq!(accepted(&smollm2_135m()).group(), 3);
    accepted(&mistral_7b(Value::Null));
}

#[test]
fn a_window_experts_and_quantised_weights_are_named() {
    refused(&mistral_7b(json!(4096)), &["sliding_window"]);
    let experts = json!({
        "model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "num_experts": 128,
        "num_experts_per_tok": 8, "moe_intermediate_size": 768, "decoder_sparse_step": 1, "mlp_only_layers": [],
    });
    refused(&joined(qwen3_0_6b_base(), &experts), &["model_type", "num_experts", "moe_intermediate_size"]);
    let quantised = json!({"quantization_config": {"quant_method": "awq", "bits": 4}});
    refused(&joined(qwen2_5_7b(), &quantised), &["quantization_config"]);
}

#[test]
fn a_model_with_linear_attention_is_refused_and_not_taken_for_its_elder() {
    let hybrid = json!({
        "model_type": "qwen3_next", "architectures": ["Qwen3NextForCausalLM"], "full_attention_interval": 4,
        "linear_conv_kernel_dim": 4, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
        "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"],
    });
    let about = ["model_type", "architectures", "linear_num_key_heads", "layer_types"];
    refused(&joined(qwen3_0_6b_base(), &hybrid), &about);
    // Nor does the elder's name help.
    let renamed = json!({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]});
    refused(&joined(joined(qwen3_0_6b_base(), &hybrid), &renamed), &["linear_num_key_heads", "layer_types"]);
}

#[test]
fn other_definitions_are_refused_by_their_facts() {
    let gemma2 = json!({
        "model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "hidden_act": "gelu_pytorch_tanh",
        "hidden_activation": "gelu_pytorch_tanh", "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0,
        "query_pre_attn_scalar": 256, "sliding_window": 4096,
    });
    refused(
        &joined(llama_3_2_1b(), &gemma2),
        &["model_type", "hidden_act", "attn_logit_softcapping", "query_pre_attn_scalar", "sliding_window"],
    );
    // States Llama's keys and nothing else, but rotates neighbours: only the definition's name tells.
    let helium = json!({"model_type": "helium", "architectures": ["HeliumForCausalLM"]});
    refused(&joined(llama_3_2_1b(), &helium), &["model_type", "architectures"]);
    let smollm3 =
        json!({"model_type": "smollm3", "architectures": ["SmolLM3ForCausalLM"], "no_rope_layers": [1, 0]});
    refused(&joined(llama_3_2_1b(), &smollm3), &["model_type", "no_rope_layers"]);
}

#[test]
fn the_gate_of_the_fixed_entry_point_takes_one_shape() {
    let check = |config: &Value| fixed_arm::check_stated(config.as_object().unwrap());
    check(&qwen3_0_6b_base()).unwrap();
    fixed_arm::check(&accepted(&qwen3_0_6b_base())).unwrap();

    let refusal = check(&changed(qwen3_0_6b_base(), "attention_bias", None)).unwrap_err();
    assert_eq!((refusal.code(), whats(&refusal)), (Code::FixedShapeMismatch, vec!["attention_bias"]));
    let larger = joined(qwen3_0_6b_base(), &json!({"hidden_size": 2048, "intermediate_size": 6144}));
    assert_eq!(whats(&check(&larger).unwrap_err()), ["hidden_size", "intermediate_size"]);
    let refusal = fixed_arm::check(&accepted(&larger)).unwrap_err();
    assert_eq!(whats(&refusal), ["hidden_size", "intermediate_size"]);
    let untied = changed(qwen3_0_6b_base(), "tie_word_embeddings", Some(json!(false)));
    assert_eq!(whats(&check(&untied).unwrap_err()), ["tie_word_embeddings"]);
}
