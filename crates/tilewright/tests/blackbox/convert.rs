//! `convert`, and the engine on what it wrote.

use std::fs;

use serde_json::Value;

use tilewright_cpu::{matmul::Matrix, pool::Pool, simd::Isa};
use tilewright_model::{Checkpoint, WeightFormat};

use crate::harness::{program_after, root, tilewright};

const FIXTURE: &str = "crates/model/tests/fixtures/qwen3-tiny";

fn convert(out: &str, extra: &[&str]) -> crate::harness::Outcome {
    let model = root().join(FIXTURE);
    tilewright(&[&["convert", "-m", model.to_str().unwrap(), "-o", out][..], extra].concat())
}

#[test]
fn a_pair_without_a_prompt_speaks_of_none() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("pair");
    let written = convert(out.to_str().unwrap(), &[]).expect_code(0).stderr;
    assert!(written.contains("done") && !written.contains("prompt of"), "{written}");
    let written = convert(out.to_str().unwrap(), &["--ids", "1,2", "--overwrite"]).expect_code(0).stderr;
    assert!(written.contains("prompt of 2 tokens"), "{written}");
}

/// The story model inside the program samples; neither form can say so, and safetensors takes the file along.
#[test]
fn what_a_form_has_no_place_for_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for (out, left_out) in [("a.gguf", true), ("pair", true), ("published", false)] {
        let form = if left_out { &[][..] } else { &["--to", "safetensors"] };
        let out = folder.path().join(out);
        let outcome = tilewright(&[&["convert", "-o", out.to_str().unwrap(), "--json"], form].concat());
        let outcome = outcome.expect_code(0);
        let flags = outcome.json()["left_out"].clone();
        assert_eq!(flags.as_str().is_some_and(|flags| flags.starts_with("--temp ")), left_out, "{flags}");
        assert_eq!(outcome.stderr.contains("left out"), left_out, "{}", outcome.stderr);
    }
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

/// Matrices are written as the floats that the format holds, in either form and in any order of elements; vectors as they were.
#[test]
fn int8_and_int4_are_written_as_what_they_stand_for() {
    let source = root().join("crates/model/tests/fixtures/qwen3-untied-mqa-f32");
    let from = Checkpoint::open(&source).unwrap();
    let (pool, isa) = (Pool::new(2), Isa::detect());
    for (name, format) in [("int8", WeightFormat::Int8), ("int4", WeightFormat::Int4)] {
        let folder = tempfile::tempdir().unwrap();
        for (form, more) in [("safetensors", &[][..]), ("converted", &["--dtype", "f32"])] {
            let out = folder.path().join(form);
            let line = ["convert", "-m", source.to_str().unwrap(), "-o", out.to_str().unwrap(), "--to", form];
            tilewright(&[&line[..], &["--quant", name], more].concat()).expect_code(0);
            let written = Checkpoint::open(&out).unwrap();
            let mut matrices = 0;
            for (tensor, original) in written.tensors().zip(from.tensors()) {
                let mut expected = original.to_f32().unwrap();
                assert_eq!(tensor.name, original.name);
                if let [rows, columns] = *original.shape {
                    let read = |rows: std::ops::Range<usize>, out: &mut [f32]| original.rows_f32(rows, out);
                    let packed = Matrix::pack(&pool, isa, format, (rows, columns), &read).unwrap();
                    let rows = expected.chunks_mut(columns).enumerate();
                    rows.for_each(|(row, out)| packed.row_f32(row, out));
                    assert!(
                        expected != original.to_f32().unwrap(),
                        "{name} rounds nothing of {}",
                        tensor.name
                    );
                    matrices += 1;
                }
                assert!(tensor.to_f32().unwrap() == expected, "{name} {form} {}", tensor.name);
            }
            assert!(matrices > 8, "{matrices}");
        }
    }
}

#[test]
fn mixtures_that_a_form_does_not_hold_are_refused_with_those_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("x");
    for (form, mixture, held) in [
        ("gguf", "int8", "q8_0, q4_0, q4_k_m"),
        ("gguf", "int4", "q8_0, q4_0, q4_k_m"),
        ("safetensors", "q8_0", "int8, int4"),
        ("converted", "q4_k_m", "int8, int4"),
    ] {
        let refusal = convert(out.to_str().unwrap(), &["--to", form, "--quant", mixture, "--json"]).refusal();
        assert_eq!(refusal["code"], "request_invalid");
        assert_eq!(refusal["findings"][0]["what"], "--quant");
        assert_eq!(refusal["findings"][0]["expected"], format!("one of {held} in this form"));
        assert!(!out.exists());
    }
}

#[test]
fn an_output_that_ends_in_gguf_is_a_gguf_file_and_never_a_directory_of_that_name() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("model.gguf");
    let out = place.to_str().unwrap();
    for wrong in
        [&["--quant", "int4"][..], &["--dtype", "f32"], &["--to", "converted"], &["--to", "safetensors"]]
    {
        let refusal = convert(out, &[wrong, &["--json"]].concat()).refusal();
        assert_eq!(refusal["code"], "request_invalid", "{wrong:?}");
        assert!(!place.exists(), "{wrong:?}");
    }
    convert(out, &["--quant", "q8_0"]).expect_code(0);
    assert!(fs::read(&place).unwrap().starts_with(b"GGUF"));
}

#[test]
fn an_output_that_is_named_like_a_file_is_never_a_directory_of_that_name() {
    let folder = tempfile::tempdir().unwrap();
    for (name, form) in [
        ("model.safetensors", &["--to", "safetensors"][..]),
        ("model.safetensors", &[]),
        ("pytorch_model.bin", &[]),
        ("weights.BIN", &["--to", "gguf"]),
        ("manifest.json", &["--to", "converted"]),
    ] {
        let place = folder.path().join(name);
        let refusal = convert(place.to_str().unwrap(), &[form, &["--json"]].concat()).refusal();
        assert_eq!(refusal["code"], "request_invalid", "{name} {form:?}");
        assert_eq!(refusal["findings"][0]["what"], "--out");
        assert!(!place.exists(), "{name} {form:?}");
    }
    // A point in a name makes no file of it, nor does an ending of a directory that is there.
    for name in ["Qwen3-0.6B", "old.bin"] {
        let place = folder.path().join(name);
        if name == "old.bin" {
            fs::create_dir(&place).unwrap();
        }
        convert(place.to_str().unwrap(), &[]).expect_code(0);
        assert!(place.join("manifest.json").exists());
    }
}

/// Rounded in its own place a model is lost; --overwrite asks for a file to be replaced, not for that.
#[test]
fn a_model_is_not_rounded_in_its_own_place() {
    let folder = tempfile::tempdir().unwrap();
    let published = folder.path().join("published");
    let line = |model: &str, out: &str, more: &[&str]| {
        tilewright(&[&["convert", "-m", model, "-o", out, "--json"][..], more].concat())
    };
    convert(published.to_str().unwrap(), &["--to", "safetensors"]).expect_code(0);
    let file = folder.path().join("alone").join("a.gguf");
    convert(file.to_str().unwrap(), &[]).expect_code(0);
    let pair = folder.path().join("pair");
    convert(pair.to_str().unwrap(), &["--dtype", "f32"]).expect_code(0);
    let (published, file, pair) =
        (published.to_str().unwrap(), file.to_str().unwrap(), pair.to_str().unwrap());
    let dotted = format!("{published}/../published");
    let alone = folder.path().join("alone");
    for (model, out, more) in [
        (published, published, &["--to", "safetensors", "--quant", "int4"][..]),
        (published, &dotted, &["--to", "safetensors", "--quant", "int8"]),
        (file, file, &["--quant", "q8_0"]),
        (alone.to_str().unwrap(), file, &["--quant", "q8_0"]),
        (pair, pair, &["--quant", "int4"]),
    ] {
        let before: Vec<_> = [published, pair].iter().map(|place| read_all(place)).collect();
        let gguf = fs::read(file).unwrap();
        let refusal = line(model, out, &[more, &["--overwrite"]].concat()).refusal();
        assert_eq!(refusal["code"], "request_invalid", "{model} {out}");
        assert_eq!(refusal["findings"][0]["what"], "--out");
        assert!(refusal["remedy"].as_str().unwrap().contains("another --out"), "{refusal}");
        let after: Vec<_> = [published, pair].iter().map(|place| read_all(place)).collect();
        assert!(before == after && fs::read(file).unwrap() == gguf, "{model} {out}");
    }
    // Nothing is lost without rounding, nor beside it.
    line(pair, pair, &["--ids", "1,2", "--dtype", "f32", "--overwrite"]).expect_code(0);
    let beside = alone.join("b.gguf");
    line(file, beside.to_str().unwrap(), &["--quant", "q8_0"]).expect_code(0);
}

/// Every file of a directory with its bytes.
fn read_all(folder: &str) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<_> = entries.map(|e| (e.file_name(), fs::read(e.path()).unwrap())).collect();
    files.sort();
    files
}
