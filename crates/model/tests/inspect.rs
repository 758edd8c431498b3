//! Inspection, digest and the converted schema, on the fixtures.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use tilewright_model::manifest::ManifestConfig;
use tilewright_model::{Checkpoint, Inspection, StopSource, TemplateSource, inspect};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The files of a fixture, one of them changed.
fn changed(name: &str, file: &str, change: impl FnOnce(&mut Vec<u8>)) -> Checkpoint {
    let mut files = Vec::new();
    let mut change = Some(change);
    for entry in std::fs::read_dir(fixture(name)).unwrap() {
        let entry = entry.unwrap();
        let mut bytes = std::fs::read(entry.path()).unwrap();
        if entry.file_name() == file {
            change.take().unwrap()(&mut bytes);
        }
        files.push((entry.file_name().into_string().unwrap(), Cow::Owned(bytes)));
    }
    Checkpoint::from_files(files).unwrap()
}

#[test]
fn inspection_tells_what_the_files_hold() {
    let inspection = inspect(&fixture("qwen3-sharded-f16"));
    assert_eq!(inspection.refusals, []);
    assert_eq!(inspection.parameters, Some(296_000));
    assert_eq!(inspection.weight_bytes(), 592_000);
    assert_eq!(inspection.tensors.len(), 3 + 4 * 11);
    let roles: Vec<_> = inspection
        .files
        .iter()
        .map(|file| (file.name.as_str(), serde_json::to_string(&file.role).unwrap()))
        .filter(|(_, role)| role == "\"weights\"")
        .map(|(name, _)| name)
        .collect();
    let shard = |i| format!("model-0000{i}-of-00003.safetensors");
    assert_eq!(roles, [shard(1), shard(2), shard(3)]);
}

#[test]
fn the_embedded_model_is_inspected_like_any_other() {
    let inspection = Inspection::embedded();
    assert_eq!(inspection.refusals, []);
    assert_eq!(inspection.template, Some(TemplateSource::TokenizerConfig));
    let stops: Vec<_> = inspection.stop_set.entries().iter().map(|e| (e.id, e.sources.clone())).collect();
    let (generation, config, tokenizer) =
        (StopSource::GenerationConfig, StopSource::Config, StopSource::Tokenizer);
    assert_eq!(stops, [(4095, vec![generation, config, tokenizer]), (4093, vec![generation])]);
}

#[test]
fn an_inspection_is_one_json_object() {
    let value = serde_json::to_value(inspect(&fixture("llama3-rope-scaling"))).unwrap();
    assert_eq!(value["config"]["family"], "llama");
    assert_eq!(value["config"]["rope"]["scaling"]["llama3"]["factor"], 8.0);
    assert_eq!(value["tensors"][0]["stored"], "bf16");
    assert_eq!(value["stop_set"][0]["id"], 2);
}

#[test]
fn the_digest_follows_the_content_and_nothing_else() {
    let name = "qwen3-tiny";
    let digest = Checkpoint::open(&fixture(name)).unwrap().digest();
    assert_eq!(digest.to_string().len(), 64);
    assert_eq!(changed(name, "generation_config.json", |_| {}).digest(), digest);
    let weights = std::fs::read(fixture(name).join("model.safetensors")).unwrap();
    let header = 8 + u64::from_le_bytes(weights[..8].try_into().unwrap()) as usize;
    for at in [header, header + 1, (header + weights.len()) / 2, weights.len() - 1] {
        let edited = changed(name, "model.safetensors", |bytes| bytes[at] ^= 1).digest();
        assert_ne!(edited, digest, "byte {at}");
    }
    let epsilon = changed(name, "config.json", |text| {
        *text = String::from_utf8(text.clone()).unwrap().replace("1e-06", "1e-05").into_bytes();
    });
    assert_ne!(epsilon.digest(), digest);
}

#[test]
fn released_bytes_can_be_read_again() {
    let checkpoint = Checkpoint::open(&fixture("qwen3-tiny")).unwrap();
    let digest = checkpoint.digest();
    for tensor in checkpoint.tensors() {
        let before = tensor.bytes.to_vec();
        checkpoint.release(tensor.bytes);
        checkpoint.release(&before);
        assert_eq!(tensor.bytes, before);
    }
    assert_eq!(checkpoint.digest(), digest);
}

#[test]
fn a_configuration_survives_the_converted_form() {
    for name in ["qwen3-tiny", "qwen2-bias", "llama3-rope-scaling", "llama-d64-odd-heads"] {
        let checkpoint = Checkpoint::open(&fixture(name)).unwrap();
        let config = ManifestConfig::new(checkpoint.config(), 1).unwrap();
        let manifest = serde_json::json!({"config": config, "input_ids": [1], "tensors": {}});
        let read =
            tilewright_model::manifest::Manifest::read(manifest.to_string().as_bytes()).unwrap().config;
        let mut expected = checkpoint.config().clone();
        expected.max_positions = tilewright_model::manifest::MAX_POSITIONS;
        (expected.bos, expected.stored) = (None, read.stored);
        assert_eq!(read, expected, "{name}");
    }
    let yarn = Checkpoint::open(&fixture("qwen3-yarn")).unwrap();
    ManifestConfig::new(yarn.config(), 1).unwrap_err();
}
