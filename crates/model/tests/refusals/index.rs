//! `model.safetensors.index.json` and the shards it names.

use serde_json::{Map, Value, json};
use tilewright_model::Code;

use crate::build::{Folder, Stored, safetensors, tensors, whats};

const INDEX: &str = "model.safetensors.index.json";

/// The sharded checkpoint, its index changed.
fn with_index(change: impl FnOnce(&mut Map<String, Value>)) -> Folder {
    let folder = Folder::valid().sharded(6);
    let mut index: Value = serde_json::from_slice(&folder.0[INDEX]).unwrap();
    change(index["weight_map"].as_object_mut().unwrap());
    folder.with(INDEX, index.to_string())
}

#[test]
fn a_shard_that_is_absent_is_named() {
    let refusal = Folder::valid().sharded(6).without("b.safetensors").refused(Code::IndexInvalid);
    assert_eq!(whats(&refusal), ["b.safetensors"]);
}

#[test]
fn a_shard_outside_the_folder_is_named() {
    let names = [
        "../b.safetensors",
        "/etc/b.safetensors",
        "sub/b.safetensors",
        "..\\b.safetensors",
        "C:b.safetensors",
        ".safetensors",
        "..",
        "b.bin",
        "",
        "b\0.safetensors",
    ];
    for name in names {
        let folder = with_index(|map| {
            map.insert("model.norm.weight".to_owned(), json!(name));
        });
        assert_eq!(whats(&folder.refused(Code::IndexInvalid)), ["model.norm.weight"], "{name:?}");
    }
}

#[test]
fn a_tensor_the_index_does_not_name_is_named() {
    let folder = with_index(|map| {
        map.shift_remove("model.norm.weight").unwrap();
    });
    assert_eq!(whats(&folder.refused(Code::IndexInvalid)), ["model.norm.weight"]);
}

#[test]
fn a_tensor_no_shard_holds_is_named() {
    let folder = with_index(|map| {
        map.insert("lm_head.weight".to_owned(), json!("a.safetensors"));
    });
    assert_eq!(whats(&folder.refused(Code::IndexInvalid)), ["lm_head.weight"]);
}

#[test]
fn a_tensor_in_another_shard_than_the_index_says_is_named() {
    let folder = with_index(|map| {
        map.insert("model.norm.weight".to_owned(), json!("a.safetensors"));
    });
    let refusal = folder.refused(Code::IndexInvalid);
    assert!(whats(&refusal).iter().all(|what| *what == "model.norm.weight"), "{refusal}");
}

#[test]
fn a_tensor_in_two_shards_is_named() {
    let mut second = tensors().split_off(6);
    second.push(Stored::new("model.embed_tokens.weight", &[8, 32]));
    let folder = Folder::valid().sharded(6).with("b.safetensors", safetensors(&second));
    assert_eq!(whats(&folder.refused(Code::IndexInvalid)), ["model.embed_tokens.weight"]);
}

#[test]
fn an_index_of_another_form_is_refused() {
    let texts = [
        "",
        "[]",
        "{}",
        r#"{"weight_map": {}}"#,
        r#"{"weight_map": []}"#,
        r#"{"weight_map": {"a": 1}}"#,
        r#"{"weight_map": {"a": "a.safetensors"}, "shards": 2}"#,
        r#"{"weight_map": {"a": "a.safetensors", "a": "b.safetensors"}}"#,
    ];
    for text in texts {
        Folder::valid().sharded(6).with(INDEX, text).refused(Code::IndexInvalid);
    }
}
