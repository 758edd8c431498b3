//! What several tests need.

use tilewright_model::{Config, Family, Rope, RopeScaling};

/// A small model to vary.
pub(crate) fn config() -> Config {
    Config {
        family: Family::Qwen3,
        hidden: 64,
        layers: 2,
        heads: 4,
        kv_heads: 2,
        head_dim: 32,
        intermediate: 96,
        vocab: 100,
        norm_eps: 1e-6,
        rope: Rope { theta: 1e4, scaling: RopeScaling::None },
        tied: true,
        qk_norm: true,
        qkv_bias: false,
        max_positions: 4096,
        bos: None,
        eos: vec![],
        stored: None,
    }
}
