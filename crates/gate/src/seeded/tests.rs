//! Draws, shapes and streams of the generator.

use super::*;
use safetensors::SafeTensors;
use tilewright_model::{Family, RopeScaling};

fn bytes(config: &Config, seed: u64) -> Vec<u8> {
    let mut out = Vec::new();
    safetensors(config, seed, &mut out, &mut |_| {}).unwrap();
    out
}

#[test]
fn draws_are_what_they_were() {
    // Computed once by another program; a change of these values changes every seeded checkpoint.
    let draw = Draw::new(7, "model.norm.weight");
    let bits: Vec<u64> = (0..3).map(|i| draw.bits(i)).collect();
    assert_eq!(bits, [0x3a8c_13dd_debd_8b58, 0x58b8_a2b1_9857_bda3, 0x7a20_7505_e93d_2700]);
}

#[test]
fn draws_have_mean_zero_and_deviation_one() {
    let draw = Draw::new(0, "x");
    let values: Vec<f64> = (0..100_000).map(|i| f64::from(draw.normal(i))).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
    assert!(mean.abs() <= 0.01, "{mean}");
    assert!((variance - 1.0).abs() <= 0.01, "{variance}");
}

#[test]
fn seeds_and_names_give_streams_of_their_own() {
    let first = |seed, name| Draw::new(seed, name).bits(0);
    assert_ne!(first(0, "a"), first(1, "a"));
    assert_ne!(first(0, "a"), first(0, "b"));
}

#[test]
fn file_holds_every_tensor_of_the_family_in_its_stored_type() {
    for (family, count) in [(Family::Qwen3, 24), (Family::Qwen2, 26), (Family::Llama, 20)] {
        for stored in [StoredType::Bf16, StoredType::F16, StoredType::F32] {
            let config = Config { stored: Some(stored), ..small(family) };
            let file = bytes(&config, 1);
            let tensors = SafeTensors::deserialize(&file).unwrap();
            assert_eq!(tensors.len(), count);
            let q = tensors.tensor("model.layers.1.self_attn.q_proj.weight").unwrap();
            assert_eq!((q.shape(), q.data().len()), ([128, 64].as_slice(), 128 * 64 * stored.block_bytes()));
        }
    }
}

#[test]
fn untied_models_have_a_head() {
    let file = bytes(&Config { tied: false, ..small(Family::Llama) }, 1);
    assert!(SafeTensors::deserialize(&file).unwrap().tensor("lm_head.weight").is_ok());
}

#[test]
fn a_value_does_not_depend_on_other_tensors_or_tiles() {
    let one = bytes(&small(Family::Llama), 3);
    let two = bytes(&Config { layers: 3, vocab: 2048, ..small(Family::Llama) }, 3);
    let name = "model.layers.1.mlp.down_proj.weight";
    let data = |file| SafeTensors::deserialize(file).unwrap().tensor(name).unwrap().data().to_vec();
    assert_eq!(data(&one), data(&two));
}

#[test]
fn a_place_that_cannot_be_written_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let refusal = write(&small(Family::Qwen3), 0, file.path(), &mut |_| {}).unwrap_err();
    assert_eq!(refusal.code(), Code::FileUnwritable);
}

#[test]
fn what_hugging_face_cannot_state_is_refused() {
    let mut config = small(Family::Llama);
    config.rope.scaling = RopeScaling::Factors(vec![1.0; 16]);
    let dir = tempfile::tempdir().unwrap();
    let refusal = write(&config, 0, dir.path(), &mut |_| {}).unwrap_err();
    assert_eq!(refusal.code(), Code::UnsupportedArchitecture);
}
