//! Every supported directory opens, and what it holds is what its files say.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use std::path::{Path, PathBuf};

use tilewright_model::{Checkpoint, Config, Family, Rope, RopeScaling, StoredType};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn open(name: &str) -> Checkpoint {
    Checkpoint::open(&fixtures().join(name)).unwrap()
}

#[test]
fn every_fixture_opens_and_every_weight_converts() {
    let mut seen = 0;
    for entry in std::fs::read_dir(fixtures()).unwrap() {
        let checkpoint = Checkpoint::open(&entry.unwrap().path()).unwrap();
        for tensor in checkpoint.tensors() {
            assert_eq!(tensor.shape.iter().product::<usize>(), tensor.elements(), "{}", tensor.name);
            let (wide, narrow) = (tensor.to_f64().unwrap(), tensor.to_f32().unwrap());
            assert!(wide.iter().zip(&narrow).all(|(a, b)| *a == f64::from(*b)), "{}", tensor.name);
        }
        seen += 1;
    }
    assert_eq!(seen, 8);
}

#[test]
fn the_configuration_is_what_the_file_states() {
    let expected = Config {
        family: Family::Llama,
        hidden: 64,
        layers: 2,
        heads: 2,
        kv_heads: 1,
        head_dim: 32,
        intermediate: 128,
        vocab: 256,
        norm_eps: 1e-6,
        rope: Rope {
            theta: 500_000.0,
            scaling: RopeScaling::Llama3 {
                factor: 8.0,
                low_freq_factor: 1.0,
                high_freq_factor: 4.0,
                original_max_positions: 64,
            },
        },
        tied: false,
        qk_norm: false,
        qkv_bias: false,
        max_positions: 4096,
        bos: Some(1),
        eos: vec![2],
        stored: Some(StoredType::Bf16),
    };
    assert_eq!(open("llama3-rope-scaling").config(), &expected);
}

#[test]
fn qwen2_has_biases_and_derives_its_head_width() {
    let checkpoint = open("qwen2-bias");
    assert_eq!((checkpoint.config().head_dim, checkpoint.config().qkv_bias), (16, true));
}

#[test]
fn shards_are_one_checkpoint() {
    let checkpoint = open("qwen3-sharded-f16");
    assert_eq!(checkpoint.tensors().len(), 3 + 4 * 11);
    assert!(checkpoint.tensors().all(|t| t.stored == StoredType::F16));
    assert!(checkpoint.parameters().head.is_some());
}

#[test]
fn the_embedded_model_opens() {
    let checkpoint = Checkpoint::embedded().unwrap();
    assert_eq!((checkpoint.config().layers, checkpoint.config().vocab), (6, 4096));
    assert!(checkpoint.tokenizer_json().is_some());
}
