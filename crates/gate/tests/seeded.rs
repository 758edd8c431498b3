//! Seeded checkpoints are ordinary ones: the reader accepts them, and the model they hold is alive.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

use tilewright_gate::seeded::{Preset, small, write};
use tilewright_model::reference::Reference;
use tilewright_model::{Checkpoint, Config, Family, Rope, RopeScaling, StoredType};

fn open(config: &Config) -> Checkpoint {
    let dir = tempfile::tempdir().unwrap();
    write(config, 5, dir.path(), &mut |_| {}).unwrap();
    Checkpoint::open(dir.path()).unwrap()
}

#[test]
fn configurations_read_back_as_they_were_asked_for() {
    let llama = small(Family::Llama);
    let rope = |scaling| Rope { theta: 10_000.0, scaling };
    let llama3 = RopeScaling::Llama3 {
        factor: 8.0,
        low_freq_factor: 1.0,
        high_freq_factor: 4.0,
        original_max_positions: 64,
    };
    let yarn = RopeScaling::Yarn {
        factor: 4.0,
        original_max_positions: 64,
        beta_fast: 32.0,
        beta_slow: 1.0,
        attention_factor: Some(1.25),
    };
    for config in [
        small(Family::Qwen3),
        Config { head_dim: 16, ..small(Family::Qwen2) },
        llama.clone(),
        small(Family::Mistral),
        Config { heads: 3, kv_heads: 1, head_dim: 128, tied: false, ..llama.clone() },
        Config { heads: 5, kv_heads: 5, head_dim: 256, ..small(Family::Qwen3) },
        Config { stored: Some(StoredType::F32), eos: vec![2, 3], bos: None, ..llama.clone() },
        Config { stored: Some(StoredType::F16), eos: vec![], ..llama.clone() },
        Config { rope: rope(llama3), ..llama.clone() },
        Config { rope: rope(yarn), ..llama.clone() },
        Config { rope: rope(RopeScaling::Linear { factor: 2.0 }), ..llama },
        Config { layers: 1, vocab: 512, bos: None, eos: vec![7], ..Preset::Qwen3Small.config() },
        Config { layers: 1, vocab: 512, ..Preset::SmolLm2.config() },
    ] {
        assert_eq!(open(&config).config(), &config);
    }
}

#[test]
fn activations_keep_their_size_and_choices_vary() {
    for family in [Family::Qwen3, Family::Qwen2, Family::Llama] {
        // Qwen2 does not state the width of a head: it follows from the others.
        let head_dim = if family == Family::Qwen2 { 16 } else { 32 };
        let config = Config { layers: 12, head_dim, ..small(family) };
        let reference = Reference::new(&open(&config)).unwrap();
        let prompt: Vec<u32> = (3..40).collect();
        let run = reference.forward(&prompt);
        let size = (run.logits.iter().map(|l| l * l).sum::<f64>() / run.logits.len() as f64).sqrt();
        assert!((1.0..10.0).contains(&size), "{family:?}: logits of size {size}");
        let values = run.v.iter().flatten().fold(0f64, |most, v| most.max(v.abs()));
        assert!((0.5..50.0).contains(&values), "{family:?}: a value of {values}");
        let mut ids = reference.greedy(&prompt, 32).ids;
        ids.sort_unstable();
        ids.dedup();
        assert!(ids.len() >= 4, "{family:?}: only {ids:?}");
    }
}
