//! Named shapes of published models, and a small one to vary.

use std::fmt;
use std::str::FromStr;

use tilewright_model::{Config, Family, Rope, RopeScaling, StoredType};

/// The shape of a published model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Qwen3-0.6B: 596 M parameters, tied.
    Qwen3Small,
    /// Qwen3-8B: 8.2 G parameters, untied.
    Qwen3Large,
    /// SmolLM2-135M: 135 M parameters, tied, odd head count.
    SmolLm2,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 3] = [Self::Qwen3Small, Self::Qwen3Large, Self::SmolLm2];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Qwen3Small => "qwen3-0.6b",
            Self::Qwen3Large => "qwen3-8b",
            Self::SmolLm2 => "smollm2-135m",
        }
    }

    /// The configuration.
    pub fn config(self) -> Config {
        let qwen3 = Config {
            hidden: 1024,
            layers: 28,
            heads: 16,
            kv_heads: 8,
            head_dim: 128,
            intermediate: 3072,
            vocab: 151_936,
            max_positions: 40_960,
            bos: Some(151_643),
            eos: vec![151_645],
            ..small(Family::Qwen3)
        };
        match self {
            Self::Qwen3Small => qwen3,
            Self::Qwen3Large => {
                Config { hidden: 4096, layers: 36, heads: 32, intermediate: 12_288, tied: false, ..qwen3 }
            }
            Self::SmolLm2 => Config {
                hidden: 576,
                layers: 30,
                heads: 9,
                kv_heads: 3,
                head_dim: 64,
                intermediate: 1536,
                vocab: 49_152,
                norm_eps: 1e-5,
                rope: Rope { theta: 100_000.0, scaling: RopeScaling::None },
                max_positions: 8192,
                bos: Some(1),
                eos: vec![2],
                ..small(Family::Llama)
            },
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preset {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        Self::ALL.into_iter().find(|p| p.name() == s).ok_or_else(|| format!("`{s}` is not one of {names}"))
    }
}

/// A model of two layers and 64 wide, with the bias and norms of its family; the base to vary in property tests:
/// `Config { heads: 3, kv_heads: 1, ..small(Family::Llama) }`.
pub fn small(family: Family) -> Config {
    Config {
        family,
        hidden: 64,
        layers: 2,
        heads: 4,
        kv_heads: 2,
        head_dim: 32,
        intermediate: 160,
        vocab: 512,
        norm_eps: 1e-6,
        rope: Rope { theta: 1e6, scaling: RopeScaling::None },
        tied: true,
        qk_norm: family == Family::Qwen3,
        qkv_bias: family == Family::Qwen2,
        max_positions: 4096,
        bos: Some(1),
        eos: vec![2],
        stored: Some(StoredType::Bf16),
    }
}
