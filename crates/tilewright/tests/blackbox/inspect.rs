//! `inspect` on the default model, every fixture and a broken folder.

use std::fs;

use crate::harness::{root, stories, tilewright};

fn fixtures() -> Vec<String> {
    let folder = root().join("crates/model/tests/fixtures");
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().path().display().to_string()).collect();
    names.sort();
    assert_eq!(names.len(), 8);
    names
}

#[test]
fn the_default_model_is_shown_whole() {
    let outcome = tilewright(&["inspect"]).expect_code(0);
    for part in [
        "model      the embedded model",
        "6 layers, hidden 256, 4 query and 2 KV heads of 128, vocabulary 4096",
        "base 1000000, no scaling",
        "positions  1024",
        "parameters 6951680",
        "plan       cpu",
        "4095 <|im_end|> (generation_config, config, tokenizer)",
        "template   tokenizer_config.json",
        "temp 0.7",
        "int4",
        "model.embed_tokens.weight",
    ] {
        assert!(outcome.stdout.contains(part), "`{part}` is not in:\n{}", outcome.stdout);
    }
    assert_eq!(outcome.stderr, "");
}

#[test]
fn json_says_the_same_and_more() {
    let object = tilewright(&["inspect", "--json", "-m", &stories()]).expect_code(0).json();
    assert_eq!(object["model"].as_str(), Some(stories().as_str()));
    assert_eq!(object["config"]["hidden"], 256);
    assert_eq!(object["parameters"], 6_951_680);
    assert_eq!(object["tokenizer_vocabulary"], 4096);
    assert_eq!(object["plan"]["context"], 1024);
    assert_eq!(object["stop_set"][0]["id"], 4095);
    assert_eq!(object["refusals"].as_array().unwrap().len(), 0);
    let memory = object["memory"].as_array().unwrap();
    let bytes: Vec<u64> = memory.iter().map(|m| m["weight_bytes"].as_u64().unwrap()).collect();
    assert_eq!(bytes.len(), 4);
    assert!(bytes.windows(2).all(|w| w[0] > w[1]), "formats are not in falling order: {bytes:?}");
    for entry in memory {
        let number = |key: &str| entry[key].as_u64().unwrap();
        let kv = number("kv_bytes_per_position") * number("context");
        assert_eq!(number("total_bytes"), number("weight_bytes") + kv);
    }
}

#[test]
fn every_fixture_is_inspected_and_accepted() {
    for folder in fixtures() {
        let object = tilewright(&["inspect", "--json", "-m", &folder]).expect_code(0).json();
        assert!(object["tensors"].as_array().unwrap().len() > 10, "{folder}");
        assert!(object["parameters"].as_u64().unwrap() > 0, "{folder}");
        let page = tilewright(&["inspect", "-m", &folder]).expect_code(0).stdout;
        assert!(page.contains("config") && page.contains("rope"), "{page}");
    }
}

#[test]
fn every_refusal_is_listed_and_the_rest_is_still_shown() {
    let folder = tempfile::tempdir().unwrap();
    for file in fs::read_dir(stories()).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    fs::write(folder.path().join("generation_config.json"), r#"{"temperature": -1, "num_beams": 4}"#)
        .unwrap();
    fs::write(folder.path().join("model.safetensors"), b"nonsense").unwrap();
    let path = folder.path().to_str().unwrap();
    let outcome = tilewright(&["inspect", "--json", "-m", path]).expect_code(1);
    let object = outcome.json();
    let codes: Vec<&str> =
        object["refusals"].as_array().unwrap().iter().map(|r| r["code"].as_str().unwrap()).collect();
    assert!(
        codes.contains(&"generation_config_invalid") && codes.contains(&"safetensors_invalid"),
        "{codes:?}"
    );
    assert_eq!(object["config"]["layers"], 6);

    let outcome = tilewright(&["inspect", "-m", path]).expect_code(1);
    assert!(outcome.stdout.contains("6 layers"), "{}", outcome.stdout);
    for code in codes {
        assert!(outcome.stderr.contains(&format!("refused: {code}")), "{}", outcome.stderr);
    }
}

#[test]
fn a_plan_that_is_refused_is_a_refusal_of_inspect() {
    let outcome = tilewright(&["inspect", "--json", "-c", "4096"]).expect_code(1);
    let refusals = outcome.json()["refusals"].clone();
    assert_eq!(refusals.as_array().unwrap().len(), 1, "{refusals}");
}

#[test]
fn numerics_of_another_engine_are_in_the_plan_or_refused() {
    let file = root().join("crates/cpu/tests/llama/llama.gguf").display().to_string();
    for numerics in ["llama.cpp", "llama.cpp-flash"] {
        let asked = ["inspect", "--json", "-m", &file, "--numerics", numerics];
        let kernels = tilewright(&asked).expect_code(0).json()["plan"]["kernels"].clone();
        assert!(kernels.as_str().unwrap().ends_with(&format!("numerics of {numerics}")), "{kernels}");
    }
    let refusals = |more: &[&str]| {
        let asked = [&["inspect", "--json", "--numerics", "llama.cpp"], more].concat();
        tilewright(&asked).expect_code(1).json()["refusals"].to_string()
    };
    // The default model is no GGUF file.
    assert!(refusals(&[]).contains("weights, with the numerics of llama.cpp"));
    assert!(
        refusals(&["-m", &file, "--weights", "int8"]).contains("weights, with the numerics of llama.cpp")
    );
}

#[test]
fn a_name_that_would_command_a_terminal_is_written_out() {
    let folder = tempfile::tempdir().unwrap();
    let source = root().join("crates/model/tests/fixtures/qwen3-tiny");
    fs::copy(source.join("config.json"), folder.path().join("config.json")).unwrap();
    let file = fs::read(source.join("model.safetensors")).unwrap();
    let (length, rest) = file.split_at(8);
    let (header, data) = rest.split_at(u64::from_le_bytes(length.try_into().unwrap()) as usize);
    let header = String::from_utf8_lossy(header).replace("model.norm.weight", "model.norm\\u001b[31m");
    let renamed = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat();
    fs::write(folder.path().join("model.safetensors"), renamed).unwrap();

    let outcome = tilewright(&["inspect", "-m", &folder.path().display().to_string()]).expect_code(1);
    assert!(!outcome.stdout.contains('\u{1b}') && !outcome.stderr.contains('\u{1b}'));
    assert!(outcome.stdout.contains("model.norm\\u{1b}[31m"), "{}", outcome.stdout);
}
