//! `convert`, and the engine on what it wrote.

use std::fs;

use serde_json::Value;

use crate::harness::{program_after, root, tilewright};

const FIXTURE: &str = "crates/model/tests/fixtures/qwen3-tiny";

fn convert(out: &str, extra: &[&str]) -> crate::harness::Outcome {
    let model = root().join(FIXTURE);
    tilewright(&[&["convert", "-m", model.to_str().unwrap(), "-o", out][..], extra].concat())
}

#[test]
fn the_pair_is_written_and_the_engine_runs_it_with_the_same_ids() {
    let folder = tempfile::tempdir().unwrap();
    let model = root().join(FIXTURE);
    for dtype in ["f64", "f32"] {
        let out = folder.path().join(dtype);
        let out = out.to_str().unwrap();
        let object = convert(out, &["--dtype", dtype, "--json"]).expect_code(0).json();
        let bytes = fs::metadata(format!("{out}/weights.blob")).unwrap().len();
        assert_eq!(object["bytes"].as_u64(), Some(bytes));
        assert_eq!(object["dtype"], dtype);
        let ids = |model: &str| {
            let line = [
                "run",
                "-m",
                model,
                "--ids",
                "1,2,3",
                "--temp",
                "0",
                "-n",
                "8",
                "--ignore-eos",
                "--weights",
                "f32",
            ];
            tilewright(&line).expect_code(0).stdout
        };
        assert_eq!(ids(out), ids(model.to_str().unwrap()));
    }
}

#[test]
fn a_prompt_is_folded_in_as_ids_or_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(folder.path().join(name).join("manifest.json")).unwrap()).unwrap()
    };
    convert(folder.path().join("ids").to_str().unwrap(), &["--ids", "5,6,7"]).expect_code(0);
    assert_eq!(manifest("ids")["input_ids"], serde_json::json!([5, 6, 7]));
    let text = folder.path().join("text");
    tilewright(&["convert", "-o", text.to_str().unwrap(), "-p", "Once upon a time"]).expect_code(0);
    assert_eq!(manifest("text")["input_ids"], serde_json::json!([643, 782, 256, 667]));
}

#[test]
fn a_pair_that_is_there_is_replaced_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    convert(out, &[]).expect_code(0);
    let refusal = convert(out, &["--json"]).refusal();
    assert_eq!(refusal["code"], "output_exists");
    convert(out, &["--overwrite"]).expect_code(0);
}

#[test]
fn text_for_a_model_without_a_tokenizer_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pair");
    let refusal = convert(out.to_str().unwrap(), &["-p", "a", "--json"]).refusal();
    assert_eq!(refusal["code"], "checkpoint_not_found");
    assert!(!out.exists());
}

#[test]
fn the_fixed_form_is_refused_for_any_other_shape() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pair");
    let refusal = convert(out.to_str().unwrap(), &["--fixed", "--json"]).refusal();
    assert_eq!(refusal["code"], "fixed_shape_mismatch");
    assert!(refusal["findings"].as_array().unwrap().len() > 3, "{refusal}");
}

#[test]
fn a_limit_of_file_size_is_refused_by_name_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pair");
    let args = ["convert", "-m", FIXTURE, "-o", out.to_str().unwrap(), "--json"];
    let output = program_after("ulimit -f 16", &folder).current_dir(root()).args(args).output().unwrap();
    let refusal = crate::harness::Outcome::from(output).refusal();
    assert_eq!(refusal["code"], "file_unwritable");
    let left: Vec<_> = fs::read_dir(&out).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [] as [std::path::PathBuf; 0]);
}

/// Every other form is the same model: the ids of a reply do not change.
#[test]
fn other_forms_are_written_and_the_engine_runs_them_with_the_same_ids() {
    let folder = tempfile::tempdir().unwrap();
    let ids = |model: &str| {
        let line = ["run", "-m", model, "--ids", "1,2,3", "--temp", "0", "-n", "8", "--ignore-eos"];
        tilewright(&[&line[..], &["--weights", "f32"]].concat()).expect_code(0).stdout
    };
    let expected = ids(root().join(FIXTURE).to_str().unwrap());
    for (form, out) in [("gguf", "model.gguf"), ("safetensors", "published")] {
        let out = folder.path().join(out);
        let out = out.to_str().unwrap();
        convert(out, &["--to", form]).expect_code(0);
        assert_eq!(ids(out), expected, "{form}");
    }
    let out = folder.path().join("x");
    let refusal = convert(out.to_str().unwrap(), &["--to", "gguf", "--ids", "1", "--json"]).refusal();
    assert_eq!(refusal["code"], "request_invalid");
}
