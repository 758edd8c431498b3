//! The float64 reference against results computed independently, in float64 throughout, by another program.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test, and what was observed is shown"
)]

#[path = "common/fixtures.rs"]
mod fixtures;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};
use tilewright_model::Checkpoint;
use tilewright_model::reference::Reference;
use tilewright_model::tolerance::{Observed, Tolerance, compare};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn f64s(file: &SafeTensors<'_>, name: &str) -> Vec<f64> {
    let tensor = file.tensor(name).unwrap();
    assert_eq!(tensor.dtype(), Dtype::F64, "{name}");
    tensor.data().as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()
}

fn ids(file: &SafeTensors<'_>, name: &str) -> Vec<u32> {
    let tensor = file.tensor(name).unwrap();
    assert_eq!(tensor.dtype(), Dtype::I64, "{name}");
    tensor
        .data()
        .as_chunks()
        .0
        .iter()
        .map(|&bytes| u32::try_from(i64::from_le_bytes(bytes)).unwrap())
        .collect()
}

/// Logits, keys, values and greedy ids of one fixture.
fn check(name: &str) {
    let reference = Reference::new(&Checkpoint::open(&fixture(name)).unwrap()).unwrap();
    let stored = std::fs::read(fixture(name).join("reference.safetensors")).unwrap();
    let stored = SafeTensors::deserialize(&stored).unwrap();
    let prompt = ids(&stored, "prompt_ids");

    let run = reference.forward(&prompt);
    let mut worst = Observed::default();
    let mut same = |what: &str, got: &[f64]| {
        let seen = compare(got, &f64s(&stored, what), Tolerance::REFERENCE);
        worst = worst.merge(seen.unwrap_or_else(|e| panic!("{name} {what}: {e}")));
    };
    same("logits", &run.logits);
    for layer in 0..reference.config().layers {
        same(&format!("k.{layer}"), &run.k[layer]);
        same(&format!("v.{layer}"), &run.v[layer]);
    }

    let expected = ids(&stored, "greedy_ids");
    let greedy = reference.greedy(&prompt, expected.len());
    assert_eq!(greedy.ids, expected, "{name}");
    same("margin", &greedy.margins);
    eprintln!("{name}: {} values, largest error {:e}", worst.values, worst.max_abs);
}

macro_rules! fixtures {
    ($($test:ident $name:literal)*) => {
        $(#[test] fn $test() { check($name); })*

        #[test]
        fn every_fixture_is_tested() {
            let mut found: Vec<_> = std::fs::read_dir(fixture(""))
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            found.sort();
            assert_eq!(found, [$($name),*]);
            assert_eq!(found, fixtures::FIXTURES);
        }
    };
}

fixtures! {
    llama_with_three_query_heads "llama-d64-odd-heads"
    llama3_rope_scaling "llama3-rope-scaling"
    qwen2_with_bias "qwen2-bias"
    qwen3_with_queries_wider_than_hidden "qwen3-d128-wide-q"
    qwen3_sharded_f16 "qwen3-sharded-f16"
    qwen3_tiny "qwen3-tiny"
    qwen3_untied_mqa_f32 "qwen3-untied-mqa-f32"
    qwen3_yarn "qwen3-yarn"
}

#[test]
fn the_epsilon_of_the_configuration_is_the_one_that_counts() {
    let logits = |epsilon: &str| {
        let files = std::fs::read_dir(fixture("qwen3-tiny")).unwrap().map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let mut bytes = std::fs::read(path).unwrap();
            if name == "config.json" {
                bytes = String::from_utf8(bytes).unwrap().replace("1e-06", epsilon).into_bytes();
            }
            (name, Cow::<[u8]>::Owned(bytes))
        });
        let checkpoint = Checkpoint::from_files(files).unwrap();
        Reference::new(&checkpoint).unwrap().forward(&[3, 4, 5]).logits
    };
    let stated = logits("1e-06");
    assert_eq!(
        stated,
        Reference::new(&Checkpoint::open(&fixture("qwen3-tiny")).unwrap())
            .unwrap()
            .forward(&[3, 4, 5])
            .logits
    );
    for other in ["1e-05", "1e-03"] {
        assert!(compare(&logits(other), &stated, Tolerance::REFERENCE).is_err(), "{other}");
    }
}

#[test]
fn nll_follows_from_the_logits_of_the_forward() {
    let reference = Reference::new(&Checkpoint::open(&fixture("qwen3-tiny")).unwrap()).unwrap();
    let ids: Vec<u32> = (3..20).collect();
    let logits = reference.forward(&ids).logits;
    let expected: Vec<f64> = logits
        .chunks_exact(reference.config().vocab)
        .zip(&ids[1..])
        .map(|(row, &id)| row.iter().map(|l| l.exp()).sum::<f64>().ln() - row[id as usize])
        .collect();
    compare(&reference.nll(&ids), &expected, Tolerance::REFERENCE).unwrap();
}
