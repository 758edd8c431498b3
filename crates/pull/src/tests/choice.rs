//! Which files of a repository are taken.

use tilewright_model::Code;

use super::{Setting, sha256};

/// Pulls `name` of a repository with these files and gives the names of what came, or the refusal.
fn pulled(files: &[&str], name: &str) -> Result<Vec<String>, tilewright_model::Refusal> {
    let setting = Setting::empty();
    for file in files {
        let index = br#"{"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}"#;
        let content = if file.ends_with("index.json") { index.to_vec() } else { file.as_bytes().to_vec() };
        setting.server.file(file, &sha256(&content), &content);
    }
    let pulled = setting.pull(name)?;
    assert!(pulled.path.exists());
    Ok(pulled.files.into_iter().map(|file| file.name).collect())
}

#[test]
fn a_published_checkpoint_comes_with_its_texts_and_nothing_else() {
    let files = [
        "README.md",
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.json",
        "chat_template.jinja",
        "model.safetensors",
        "pytorch_model.bin",
        "onnx/model.onnx",
        "q.gguf",
    ];
    let texts = [
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "chat_template.jinja",
    ];
    assert_eq!(pulled(&files, "org/name").unwrap(), [&texts[..], &["model.safetensors"]].concat());
}

#[test]
fn shards_are_those_that_the_index_names() {
    let shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    let index = "model.safetensors.index.json";
    let files =
        ["config.json", index, shards[0], shards[1], "model-00003-of-00003.safetensors", "model.safetensors"];
    assert_eq!(pulled(&files, "org/name").unwrap(), ["config.json", index, shards[0], shards[1]]);
    let refusal = pulled(&["config.json", index, shards[0]], "org/name").unwrap_err();
    assert_eq!(refusal.code(), Code::HubFileNotFound);
    assert_eq!(refusal.findings().len(), 1);
}

#[test]
fn one_gguf_model_is_taken_and_several_are_listed() {
    assert_eq!(pulled(&["README.md", "a.gguf"], "org/name").unwrap(), ["a.gguf"]);
    let split = ["q8/a-00001-of-00002.gguf", "q8/a-00002-of-00002.gguf"];
    assert_eq!(pulled(&split, "org/name").unwrap(), split);
    let several = ["a-q4.gguf", split[0], split[1]];
    let refusal = pulled(&several, "org/name").unwrap_err();
    assert_eq!(refusal.code(), Code::HubFileUnclear);
    assert_eq!(refusal.findings()[0].got, format!("a-q4.gguf, {}", split[0]));
    assert_eq!(pulled(&several, "org/name:a-q4.gguf").unwrap(), ["a-q4.gguf"]);
    assert_eq!(pulled(&several, "org/name:q8/a-00002-of-00002.gguf").unwrap(), split);
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let refusal = pulled(&["a.gguf", "b.gguf"], "org/name:c.gguf").unwrap_err();
    assert_eq!(refusal.code(), Code::HubFileNotFound);
    assert_eq!(refusal.findings()[0].got, "none; there are a.gguf, b.gguf");
    let refusal = pulled(&["README.md", "pytorch_model.bin"], "org/name").unwrap_err();
    assert_eq!(refusal.code(), Code::HubFileNotFound);
    assert_eq!(
        pulled(&["manifest.json", "weights.blob"], "org/name").unwrap(),
        ["manifest.json", "weights.blob"]
    );
}

/// The weights of an adapter, or of a part of a model, have no configuration beside them.
#[test]
fn weights_without_a_configuration_are_refused_before_any_of_them_comes() {
    for files in [
        &["README.md", "model.safetensors"][..],
        &["model.safetensors.index.json", "model-00001-of-00002.safetensors"],
        &["adapter_config.json", "adapter_model.safetensors", "tokenizer.json"],
        &["manifest.json"],
    ] {
        let setting = Setting::empty();
        files.iter().for_each(|file| setting.server.file(file, &sha256(file.as_bytes()), file.as_bytes()));
        let refusal = setting.pull("org/name").unwrap_err();
        assert_eq!(refusal.code(), Code::HubFileNotFound, "{files:?}");
        assert!(refusal.findings()[0].expected.contains("config.json"), "{refusal}");
        assert!(refusal.remedy().contains("Choose a repository"), "{refusal}");
        assert_eq!(setting.server.asked().len(), 1, "{files:?}: the list alone");
    }
    // Beside a GGUF model they are not what is meant.
    assert_eq!(pulled(&["model.safetensors", "a.gguf"], "org/name").unwrap(), ["a.gguf"]);
}
