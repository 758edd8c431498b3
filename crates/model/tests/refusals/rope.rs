//! Rotary settings: two layouts, four types, each a closed set of keys.

use serde_json::{Value, json};
use tilewright_model::{Code, Config, Refusal, Rope, RopeScaling};

use crate::build::{changed, config, whats};

/// Reads with `rope_theta`, `rope_scaling` and `rope_parameters` as given; null leaves a key out.
fn read(theta: Value, scaling: Value, parameters: Value) -> Result<Rope, Refusal> {
    let mut config = changed(config(), "rope_theta", None);
    for (key, value) in [("rope_theta", theta), ("rope_scaling", scaling), ("rope_parameters", parameters)] {
        if !value.is_null() {
            config = changed(config, key, Some(value));
        }
    }
    Config::from_json(config.to_string().as_bytes()).map(|config| config.rope)
}

#[track_caller]
fn refused(rope: Result<Rope, Refusal>, code: Code, about: &[&str]) {
    let refusal = rope.unwrap_err();
    assert_eq!((refusal.code(), whats(&refusal)), (code, about.to_vec()), "{refusal}");
}

fn yarn() -> Value {
    json!({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32})
}

fn llama3() -> Value {
    json!({
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32,
    })
}

fn nested(scaling: Value, theta: f64) -> Value {
    changed(scaling, "rope_theta", Some(json!(theta)))
}

#[test]
fn flat_nested_and_both_mean_the_same() {
    let flat = read(json!(1e6), yarn(), Value::Null).unwrap();
    assert_eq!(read(Value::Null, Value::Null, nested(yarn(), 1e6)).unwrap(), flat);
    assert_eq!(read(json!(1e6), yarn(), nested(yarn(), 1e6)).unwrap(), flat);
    let RopeScaling::Yarn { beta_fast, beta_slow, attention_factor, .. } = flat.scaling else {
        panic!("{flat:?}")
    };
    assert_eq!((beta_fast, beta_slow, attention_factor), (32.0, 1.0, None));
}

#[test]
fn the_old_name_of_the_type_is_read() {
    let old = json!({"type": "linear", "factor": 2.0});
    assert_eq!(read(json!(1e4), old, Value::Null).unwrap().scaling, RopeScaling::Linear { factor: 2.0 });
    let base_only = read(Value::Null, Value::Null, json!({"rope_theta": 5e5})).unwrap();
    assert_eq!(base_only, Rope { theta: 5e5, scaling: RopeScaling::None });
}

#[test]
fn two_statements_that_differ_are_a_contradiction() {
    let theta = read(json!(1e6), Value::Null, json!({"rope_type": "default", "rope_theta": 1e4}));
    refused(theta, Code::RopeContradictory, &["rope_parameters.rope_theta"]);
    let scaling = read(json!(1e6), yarn(), nested(llama3(), 1e6));
    refused(scaling, Code::RopeContradictory, &["rope_scaling"]);
    let factor = read(json!(1e6), yarn(), nested(changed(yarn(), "factor", Some(json!(2.0))), 1e6));
    refused(factor, Code::RopeContradictory, &["rope_scaling"]);
    let kind = read(json!(1e6), changed(yarn(), "type", Some(json!("linear"))), Value::Null);
    refused(kind, Code::RopeContradictory, &["rope_scaling.type"]);
}

#[test]
fn a_base_has_no_default() {
    refused(read(Value::Null, Value::Null, Value::Null), Code::ConfigInvalid, &["rope_theta"]);
    refused(read(Value::Null, yarn(), Value::Null), Code::ConfigInvalid, &["rope_theta"]);
    refused(read(Value::Null, Value::Null, yarn()), Code::ConfigInvalid, &["rope_theta"]);
}

#[test]
fn llama_files_older_than_the_key_have_the_base_of_their_time() {
    let llama = |version: Value| {
        let mut config = changed(config(), "rope_theta", None);
        for (key, value) in [
            ("model_type", json!("llama")),
            ("architectures", json!(["LlamaForCausalLM"])),
            ("transformers_version", version),
        ] {
            config = changed(config, key, Some(value));
        }
        Config::from_json(config.to_string().as_bytes())
    };
    for old in ["4.31.0.dev0", "4.28.1", "3.5.1"] {
        assert_eq!(llama(json!(old)).unwrap().rope.theta, 10_000.0);
    }
    for new in [json!("4.33.0"), json!("4.44.2"), json!("5.0.0"), json!("4"), Value::Null] {
        assert_eq!(llama(new).unwrap_err().code(), Code::ConfigInvalid);
    }
}

#[test]
fn a_type_that_is_not_known_is_named() {
    for kind in ["dynamic", "longrope", "su", "mrope", "proportional"] {
        let scaling = json!({"rope_type": kind, "factor": 2.0});
        refused(
            read(json!(1e6), scaling, Value::Null),
            Code::UnsupportedArchitecture,
            &["rope_scaling.rope_type"],
        );
    }
    refused(
        read(json!(1e6), json!({"factor": 2.0}), Value::Null),
        Code::ConfigInvalid,
        &["rope_scaling.rope_type"],
    );
    refused(read(json!(1e6), json!("yarn"), Value::Null), Code::ConfigInvalid, &["rope_scaling"]);
}

#[test]
fn a_key_the_type_does_not_have_is_named() {
    for (scaling, key) in [(yarn(), "mscale"), (llama3(), "beta_fast"), (yarn(), "short_factor")] {
        let about = format!("rope_scaling.{key}");
        let scaling = changed(scaling, key, Some(json!(1.0)));
        refused(read(json!(1e6), scaling, Value::Null), Code::UnsupportedArchitecture, &[&about]);
    }
}

#[test]
fn a_number_that_is_missing_or_out_of_its_domain_is_named() {
    let cases = [
        (yarn(), "factor", None),
        (yarn(), "original_max_position_embeddings", None),
        (yarn(), "factor", Some(json!(0.5))),
        (yarn(), "factor", Some(json!("4"))),
        (yarn(), "beta_fast", Some(json!(0.5))),
        (yarn(), "attention_factor", Some(json!(0))),
        (yarn(), "original_max_position_embeddings", Some(json!(32.5))),
        (llama3(), "low_freq_factor", None),
        (llama3(), "high_freq_factor", Some(json!(1.0))),
        (json!({"rope_type": "linear", "factor": 2.0}), "factor", None),
        (json!({"rope_type": "linear", "factor": 2.0}), "partial_rotary_factor", Some(json!(0.5))),
    ];
    for (scaling, key, value) in cases {
        let about = format!("rope_scaling.{key}");
        refused(read(json!(1e6), changed(scaling, key, value), Value::Null), Code::ConfigInvalid, &[&about]);
    }
}
