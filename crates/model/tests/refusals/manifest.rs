//! The converted form: `manifest.json` and `weights.blob`.

use serde_json::{Value, json};
use tilewright_model::{Code, Family, RopeScaling, StoredType};

use crate::build::{changed, pair, pair_config as config, whats};

const UP: &str = "model.layers.0.mlp.up_proj.weight";

#[test]
fn a_pair_opens_with_its_prompt_and_logical_shapes() {
    let checkpoint = pair(config(), |_| {}).open().unwrap();
    assert_eq!((checkpoint.config().family, checkpoint.config().tied), (Family::Qwen3, true));
    assert_eq!(checkpoint.prompt_ids(), Some(&[1, 5][..]));
    assert_eq!(checkpoint.stop_set().ids().collect::<Vec<_>>(), [2, 3]);
    let parameters = checkpoint.parameters();
    let up = &parameters.layers[0].up;
    assert_eq!((up.shape, up.transposed, up.stored), (&[64, 32][..], true, StoredType::F32));
    // Stored [32, 64] and counting up: logical (row, column) is element column * 64 + row.
    let (all, first) = (up.to_f32().unwrap(), f32::from_le_bytes(up.bytes[..4].try_into().unwrap()));
    for (row, column) in [(0, 0), (1, 0), (0, 1), (63, 31), (17, 5)] {
        assert_eq!(all[row * 32 + column], first + (column * 64 + row) as f32);
    }
    let mut rows = vec![0.0; 3 * 32];
    up.rows_f32(16..19, &mut rows).unwrap();
    assert_eq!(rows, all[16 * 32..19 * 32]);
}

#[test]
fn a_manifest_without_its_blob_is_no_checkpoint() {
    pair(config(), |_| {}).without("weights.blob").refused(Code::CheckpointNotFound);
}

#[test]
fn a_manifest_of_another_form_is_refused() {
    let texts = ["", "[]", "{}", r#"{"config": {}, "input_ids": [], "tensors": {}, "more": 1}"#];
    for text in texts {
        pair(config(), |_| {}).with("manifest.json", text).refused(Code::ManifestInvalid);
    }
}

#[test]
fn a_key_that_is_missing_or_mistyped_is_named() {
    for key in ["hidden_size", "head_dim", "rope_theta", "n_tokens", "has_qk_norm"] {
        let folder = pair(changed(config(), key, None), |_| {});
        assert_eq!(whats(&folder.refused(Code::ManifestInvalid)), [key]);
        let folder = pair(changed(config(), key, Some(json!("x"))), |_| {});
        assert_eq!(whats(&folder.refused(Code::ManifestInvalid))[0], key);
    }
}

#[test]
fn what_the_format_can_state_and_the_engine_cannot_do_is_named() {
    for (key, value) in [
        ("model_family", json!("gemma3")),
        ("activation_code", json!(1)),
        ("sliding_window", json!(512)),
        ("rope_scaling_type", json!(2)),
        ("head_dim", json!(24)),
        ("weights_dtype", json!("i8")),
    ] {
        let folder = pair(changed(config(), key, Some(value)), |_| {});
        assert_eq!(whats(&folder.refused(Code::UnsupportedArchitecture)), [key]);
    }
}

#[test]
fn the_prompt_must_be_as_long_as_stated_and_within_the_vocabulary() {
    for ids in [json!([1]), json!([1, 8]), json!([1, -1]), json!("1 2"), Value::Null] {
        let folder = pair(config(), |manifest| manifest["input_ids"] = ids);
        assert_eq!(whats(&folder.refused(Code::ManifestInvalid)), ["input_ids"]);
    }
}

#[test]
fn a_tensor_whose_counts_do_not_agree_is_named() {
    for (field, value) in [
        ("n_elements", json!(7)),
        ("shape", json!([32, 63])),
        ("shape", json!([1u64 << 63, 2])),
        ("shape", json!("32x64")),
        ("transposed", json!(2)),
        ("transposed", json!("yes")),
        ("offset", json!(-1)),
        ("extra", json!(0)),
    ] {
        let folder = pair(config(), |manifest| manifest["tensors"][UP][field] = value);
        assert_eq!(whats(&folder.refused(Code::ManifestInvalid)), [UP]);
    }
}

#[test]
fn tensors_must_tile_the_blob() {
    let moved = |by: i64| {
        pair(config(), |manifest| {
            let offset = manifest["tensors"][UP]["offset"].as_i64().unwrap();
            manifest["tensors"][UP]["offset"] = json!(offset + by);
        })
    };
    for by in [-1, 1, 1 << 40, i64::MAX - (1 << 20)] {
        assert!(whats(&moved(by).refused(Code::ManifestInvalid)).contains(&UP));
    }
    let longer = pair(config(), |_| {});
    let blob = [longer.0["weights.blob"].clone(), vec![0; 4]].concat();
    assert_eq!(whats(&longer.clone().with("weights.blob", blob).refused(Code::ManifestInvalid)), ["data"]);
    let odd = [longer.0["weights.blob"].clone(), vec![0; 3]].concat();
    longer.with("weights.blob", odd).refused(Code::ManifestInvalid);
}

#[test]
fn tensors_must_be_those_of_the_configuration() {
    let folder = pair(config(), |manifest| {
        let tensors = manifest["tensors"].as_object_mut().unwrap();
        let up = tensors.remove(UP).unwrap();
        tensors.insert("up".to_owned(), up);
    });
    assert_eq!(whats(&folder.refused(Code::TensorMismatch)), [UP, "up"]);
}

#[test]
fn rope_is_read_in_the_forms_of_the_format() {
    let llama3 = json!({
        "rope_scaling_type": 3, "rope_scaling_factor": 8.0, "rope_scaling_original_max_position_embeddings": 64,
    });
    let with = |more: &Value| {
        let mut config = config();
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        pair(config, |_| {})
    };
    let scaling = with(&llama3).open().unwrap().config().rope.scaling.clone();
    assert!(
        matches!(scaling, RopeScaling::Llama3 { low_freq_factor: 1.0, high_freq_factor: 4.0, .. }),
        "{scaling:?}"
    );
    let factors = with(&json!({"rope_freq_factors": vec![2.0; 8]})).open().unwrap();
    assert_eq!(factors.config().rope.scaling, RopeScaling::Factors(vec![2.0; 8]));
    let wrong = [
        (json!({"rope_freq_factors": vec![2.0; 7]}), "rope_freq_factors"),
        (json!({"rope_freq_factors": vec![0.0; 8]}), "rope_freq_factors"),
        (json!({"rope_scaling_factor": 8.0}), "rope_scaling_factor"),
        (changed(llama3.clone(), "rope_scaling_factor", None), "rope_scaling_factor"),
        (changed(llama3, "rope_scaling_high_freq_factor", Some(json!(0.5))), "rope_scaling_high_freq_factor"),
    ];
    for (more, about) in wrong {
        assert_eq!(whats(&with(&more).refused(Code::ManifestInvalid)), [about]);
    }
}

#[test]
fn the_fixed_form_has_one_shape() {
    let mut fixed = config();
    for key in ["has_qk_norm", "tie_word_embeddings", "attention_bias"] {
        fixed = changed(fixed, key, None);
    }
    let refusal = pair(fixed, |_| {}).refused(Code::FixedShapeMismatch);
    assert!(whats(&refusal).contains(&"hidden_size"), "{refusal}");
    assert!(!whats(&refusal).contains(&"hidden_act"), "{refusal}");
}
