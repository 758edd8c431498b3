//! Refusals: exit code, stream, code, findings, remedy.

use std::fs;

use crate::harness::{root, stories, tilewright, tilewright_reading};

fn refused(args: &[&str]) -> serde_json::Value {
    tilewright(&[args, &["--json"]].concat()).refusal()
}

#[test]
fn a_refusal_names_its_code_every_finding_and_the_remedy() {
    let args =
        ["run", "-p", "a", "--top-p", "1.5", "--min-p", "-1", "--temp", "NaN", "--presence-penalty", "9"];
    let refusal = refused(&args);
    assert_eq!(refusal["code"], "sampling_invalid");
    assert_eq!(refusal["number"], 751);
    assert_eq!(refusal["findings"].as_array().unwrap().len(), 4, "{refusal}");
    assert!(refusal["remedy"].as_str().is_some_and(|r| !r.is_empty()));

    let outcome = tilewright(&args).expect_code(1);
    assert!(outcome.stdout.is_empty(), "{}", outcome.stdout);
    for part in
        ["refused: sampling_invalid (751)", "top_p", "min_p", "temperature", "presence_penalty", "remedy:"]
    {
        assert!(outcome.stderr.contains(part), "`{part}` is not in: {}", outcome.stderr);
    }
}

#[test]
fn a_model_that_is_not_there_is_refused() {
    for command in [&["run", "-p", "a"][..], &["chat"], &["inspect"], &["perplexity", "--ids", "1,2"]] {
        let outcome = tilewright(&[command, &["-m", "no/such/folder"]].concat()).expect_code(1);
        assert!(outcome.stderr.contains("refused: checkpoint_not_found (700)"), "{}", outcome.stderr);
    }
}

#[test]
fn a_model_that_nobody_has_downloaded_is_refused_with_the_command_that_does() {
    for (name, told) in [("Qwen/Qwen3-0.6B", true), ("org/name:file.gguf", true), ("no/such/folder", false)] {
        let outcome = tilewright(&["inspect", "-m", name]).expect_code(1);
        assert_eq!(outcome.stderr.contains(&format!("`tilewright pull {name}`")), told, "{}", outcome.stderr);
    }
}

#[test]
fn a_prompt_is_refused_before_the_model_is_loaded() {
    let refusal = refused(&["run", "-f", "no/such/file", "-m", "no/such/folder"]);
    assert_eq!(refusal["code"], "file_unreadable");
    let outcome = tilewright_reading(&["run", "--messages", "-", "-m", "no/such/folder", "--json"], "{");
    assert_eq!(outcome.refusal()["code"], "message_invalid");
}

#[test]
fn a_prompt_longer_than_the_context_is_refused_and_not_cut() {
    let refusal = refused(&["run", "-p", &"word ".repeat(100), "-c", "64"]);
    assert_eq!(refusal["code"], "context_full");
}

#[test]
fn more_tokens_than_fit_are_refused() {
    let refusal = refused(&["run", "-p", "Once", "-c", "64", "-n", "100"]);
    assert_eq!(refusal["code"], "context_full");
}

#[test]
fn ids_outside_the_vocabulary_are_refused() {
    assert_eq!(refused(&["run", "--ids", "1,4096"])["code"], "request_invalid");
}

#[test]
fn text_for_a_model_without_a_tokenizer_is_refused_before_it_is_loaded() {
    let folder = root().join("crates/model/tests/fixtures/qwen3-tiny");
    let outcome = tilewright(&["run", "-p", "a", "-m", folder.to_str().unwrap()]).expect_code(1);
    assert!(
        outcome.stderr.starts_with("refused: tokenizer_invalid"),
        "something was said before: {}",
        outcome.stderr
    );
    assert_eq!(refused(&["chat", "-m", folder.to_str().unwrap()])["code"], "tokenizer_invalid");
}

#[test]
fn a_device_that_is_not_there_is_refused_and_none_takes_its_place() {
    if !cfg!(target_os = "macos") {
        let refusal = refused(&["run", "-p", "a", "--device", "metal"]);
        assert_eq!(refusal["code"], "metaldispatch_shader_toolchain_absent");
    }
    let refusal = refused(&["run", "-p", "a", "--device", "cuda:4096"]);
    let known = ["device_unavailable", "cuda_driver_missing", "cuda_driver_too_old"];
    assert!(known.iter().any(|code| refusal["code"] == *code), "{refusal}");
}

#[test]
fn a_template_that_cannot_work_is_refused_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("template.jinja");
    fs::write(&file, "{% for m in messages %}").unwrap();
    let refusal = refused(&["run", "-p", "a", "--chat-template", file.to_str().unwrap()]);
    assert_eq!(refusal["code"], "template_invalid");
    assert_eq!(refusal["place"].as_str(), file.to_str());
}

#[test]
fn every_mismatch_of_a_configuration_is_in_one_message() {
    let folder = tempfile::tempdir().unwrap();
    for file in fs::read_dir(stories()).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    let path = folder.path().join("config.json");
    let config = fs::read_to_string(&path).unwrap();
    let broken = config.replace("\"silu\"", "\"gelu\"").replace("\"head_dim\": 128", "\"head_dim\": 100");
    assert_ne!(config, broken);
    fs::write(&path, broken).unwrap();
    let refusal = refused(&["run", "-p", "a", "-m", folder.path().to_str().unwrap()]);
    assert_eq!(refusal["code"], "unsupported_architecture", "{refusal}");
    let findings = refusal["findings"].to_string();
    assert!(findings.contains("hidden_act") && findings.contains("head_dim"), "{findings}");
}

#[test]
fn a_request_that_no_model_could_honor_is_refused_before_one_is_loaded() {
    let outcome =
        tilewright(&["run", "-m", "nowhere", "-p", "a", "--top-p", "2", "--temp", "1"]).expect_code(1);
    assert!(outcome.stderr.contains("sampling_invalid"), "{}", outcome.stderr);
    let outcome = tilewright(&["chat", "-m", "nowhere", "-n", "0"]).expect_code(1);
    assert!(outcome.stderr.contains("request_invalid"), "{}", outcome.stderr);
}
