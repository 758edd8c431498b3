//! `config.json`: facts outside the supported set, missing and mistyped keys.

use serde_json::{Value, json};
use tilewright_model::{Code, Config, Refusal};

use crate::build::{changed, config, whats};

fn read(config: &Value) -> Result<Config, Refusal> {
    Config::from_json(config.to_string().as_bytes())
}

#[track_caller]
fn refused(config: &Value, code: Code, about: &[&str]) {
    let refusal = read(config).map(|_| ()).unwrap_err();
    assert_eq!((refusal.code(), whats(&refusal)), (code, about.to_vec()), "{refusal}");
}

/// A configuration of the same size in another family.
fn family(model_type: &str, architecture: &str) -> Value {
    let config = changed(config(), "model_type", Some(json!(model_type)));
    changed(config, "architectures", Some(json!([architecture])))
}

#[test]
fn a_fact_outside_the_supported_set_is_named() {
    let cases = [
        ("hidden_size", json!(33)),
        ("hidden_size", json!(0)),
        ("intermediate_size", json!(65)),
        ("num_hidden_layers", json!(129)),
        ("num_hidden_layers", json!(u64::MAX)),
        ("vocab_size", json!(u64::MAX)),
        ("num_key_value_heads", json!(3)),
        ("head_dim", json!(24)),
        ("head_dim", json!(512)),
        ("vocab_size", json!(2_097_153)),
        ("hidden_act", json!("gelu_pytorch_tanh")),
        ("hidden_activation", json!("gelu")),
        ("mlp_bias", json!(true)),
        ("rope_interleaved", json!(true)),
        ("partial_rotary_factor", json!(0.5)),
        ("use_mrope", json!(true)),
        ("attn_logit_softcapping", json!(50.0)),
        ("final_logit_softcapping", json!(30.0)),
        ("query_pre_attn_scalar", json!(256)),
        ("attention_multiplier", json!(0.1)),
        ("embedding_multiplier", json!(12.0)),
        ("residual_multiplier", json!(0.22)),
        ("logits_scaling", json!(8.0)),
        ("num_experts", json!(128)),
        ("num_local_experts", json!(8)),
        ("n_routed_experts", json!(64)),
        ("moe_num_experts", json!(8)),
        ("num_experts_per_tok", json!(8)),
        ("quantization_config", json!({"quant_method": "gptq", "bits": 4})),
        ("compression_config", json!({"format": "pack-quantized"})),
        ("auto_map", json!({"AutoModelForCausalLM": "modeling_x.X"})),
        ("is_encoder_decoder", json!(true)),
        ("torch_dtype", json!("float8_e4m3fn")),
        ("model_type", json!("helium")),
        ("architectures", json!(["Gemma3ForCausalLM"])),
        ("architectures", json!(["Qwen3ForCausalLM", "Qwen2ForCausalLM"])),
        ("layer_types", json!(["sliding_attention"])),
    ];
    for (key, value) in cases {
        refused(&changed(config(), key, Some(value)), Code::UnsupportedArchitecture, &[key]);
    }
}

#[test]
fn a_key_whose_meaning_is_unknown_is_named() {
    for key in ["no_rope_layers", "rope_local_base_freq", "layer_norm_eps", "text_config", "temperature"] {
        refused(&changed(config(), key, Some(json!(1))), Code::UnsupportedArchitecture, &[key]);
    }
}

#[test]
fn a_key_that_the_family_always_states_has_no_default() {
    let always = [
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "intermediate_size",
        "vocab_size",
        "max_position_embeddings",
        "tie_word_embeddings",
        "rms_norm_eps",
        "hidden_act",
        "rope_theta",
    ];
    for key in always {
        refused(&changed(config(), key, None), Code::ConfigInvalid, &[key]);
        if key != "rope_theta" {
            refused(&changed(config(), key, Some(Value::Null)), Code::ConfigInvalid, &[key]);
        }
    }
}

#[test]
fn a_value_of_another_type_is_named() {
    let cases = [
        ("hidden_size", json!("32")),
        ("hidden_size", json!(32.0)),
        ("hidden_size", json!(-32)),
        ("num_hidden_layers", json!([1])),
        ("rms_norm_eps", json!(0)),
        ("rms_norm_eps", json!(-1e-6)),
        ("rms_norm_eps", json!(1e300)),
        ("rope_theta", json!(1e-300)),
        ("rope_theta", json!("1e6")),
        ("tie_word_embeddings", json!(1)),
        ("use_sliding_window", json!("no")),
        ("sliding_window", json!("long")),
        ("bos_token_id", json!([1, 2])),
        ("bos_token_id", json!(8)),
        ("eos_token_id", json!(8)),
        ("eos_token_id", json!([2, -1])),
        ("layer_types", json!(["full_attention", "full_attention"])),
        ("layer_types", json!("full_attention")),
    ];
    for (key, value) in cases {
        refused(&changed(config(), key, Some(value)), Code::ConfigInvalid, &[key]);
    }
}

#[test]
fn a_text_that_is_no_configuration_is_refused() {
    for text in ["", "{", "[]", "null", r#"{"hidden_size": NaN}"#, r#"{"a": 1, "a": 1}"#, "\u{feff}{}"] {
        let refusal = Config::from_json(text.as_bytes()).unwrap_err();
        assert_eq!(refusal.code(), Code::ConfigInvalid, "{text}");
    }
    assert_eq!(Config::from_json(b"\xff\xfe").unwrap_err().code(), Code::ConfigInvalid);
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(Config::from_json(deep.as_bytes()).unwrap_err().code(), Code::ConfigInvalid);
}

#[test]
fn every_mismatch_is_in_one_message() {
    let mut config = config();
    for (key, value) in [
        ("hidden_size", json!(33)),
        ("mystery", json!(1)),
        ("rms_norm_eps", json!("x")),
        ("num_experts", json!(4)),
    ] {
        config = changed(config, key, Some(value));
    }
    config.as_object_mut().unwrap().shift_remove("vocab_size").unwrap();
    let about = ["hidden_size", "rms_norm_eps", "mystery", "num_experts", "vocab_size"];
    refused(&config, Code::UnsupportedArchitecture, &about);
}

#[test]
fn model_type_and_architectures_must_name_one_family() {
    refused(&family("qwen2", "LlamaForCausalLM"), Code::UnsupportedArchitecture, &["architectures"]);
    let neither = changed(changed(config(), "model_type", None), "architectures", None);
    refused(&neither, Code::ConfigInvalid, &["model_type"]);
    read(&changed(config(), "model_type", None)).unwrap();
    read(&changed(config(), "architectures", None)).unwrap();
}

#[test]
fn a_key_of_another_family_is_refused() {
    let mistral = family("mistral", "MistralForCausalLM");
    read(&mistral).unwrap();
    let with = changed(mistral, "use_sliding_window", Some(json!(false)));
    refused(&with, Code::UnsupportedArchitecture, &["use_sliding_window"]);
}

#[test]
fn a_window_is_accepted_only_where_it_has_no_effect() {
    let window = |config: Value, on: Value, window: Value| {
        let config = changed(config, "sliding_window", Some(window));
        if on.is_null() { config } else { changed(config, "use_sliding_window", Some(on)) }
    };
    let accepted = [
        window(config(), json!(false), json!(16)),
        window(config(), Value::Null, json!(16)),
        window(config(), json!(true), json!(128)),
        window(config(), json!(true), Value::Null),
        changed(window(config(), json!(true), json!(16)), "max_window_layers", Some(json!(1))),
        window(family("mistral", "MistralForCausalLM"), Value::Null, Value::Null),
        window(family("mistral", "MistralForCausalLM"), Value::Null, json!(4096)),
    ];
    for config in accepted {
        read(&config).unwrap();
    }
    let refusals = [
        window(config(), json!(true), json!(127)),
        changed(window(config(), json!(true), json!(16)), "max_window_layers", Some(json!(0))),
        window(family("mistral", "MistralForCausalLM"), Value::Null, json!(127)),
    ];
    for config in refusals {
        refused(&config, Code::UnsupportedArchitecture, &["sliding_window"]);
    }
}

#[test]
fn a_head_width_is_derived_only_where_the_format_says_so() {
    refused(&changed(config(), "head_dim", None), Code::ConfigInvalid, &["head_dim"]);
    let llama = changed(family("llama", "LlamaForCausalLM"), "head_dim", None);
    assert_eq!(read(&llama).unwrap().head_dim, 16);
    let three =
        changed(changed(llama, "num_attention_heads", Some(json!(3))), "num_key_value_heads", Some(json!(1)));
    refused(&three, Code::UnsupportedArchitecture, &["head_dim"]);
}

#[test]
fn the_width_of_all_heads_is_a_multiple_of_the_quantisation_unit() {
    let three = changed(config(), "num_attention_heads", Some(json!(3)));
    refused(&three, Code::UnsupportedArchitecture, &["num_attention_heads * head_dim"]);
}

#[test]
fn biases_are_stated_or_defined() {
    assert!(read(&changed(config(), "attention_bias", Some(json!(true)))).unwrap().qkv_bias);
    let qwen2 = family("qwen2", "Qwen2ForCausalLM");
    assert!(read(&qwen2).unwrap().qkv_bias);
    let without = changed(qwen2, "attention_bias", Some(json!(false)));
    refused(&without, Code::UnsupportedArchitecture, &["attention_bias"]);
}

#[test]
fn both_names_of_the_stored_type_must_agree() {
    let config = changed(config(), "torch_dtype", Some(json!("bfloat16")));
    read(&changed(config.clone(), "dtype", Some(json!("bfloat16")))).unwrap();
    refused(&changed(config, "dtype", Some(json!("float16"))), Code::ConfigInvalid, &["dtype"]);
}
