//! Named shapes, for goldens, compile checks and tests.

use super::Shape;

/// A shape with a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The name, as on the command line.
    pub name: &'static str,
    /// The shape.
    pub shape: Shape,
}

/// Every sample, smallest first.
pub const SAMPLES: &[Sample] = &[
    Sample { name: "qwen3-tiny", shape: Shape::QWEN3_TINY },
    Sample { name: "qwen2-tiny", shape: Shape::QWEN2_TINY },
    Sample { name: "llama-tiny", shape: Shape::LLAMA_TINY },
    Sample { name: "stories", shape: Shape::STORIES },
    Sample { name: "qwen3-0.6b", shape: Shape::QWEN3_0_6B },
];

impl Shape {
    /// The published Qwen3-0.6B with a cache for a prompt of 4,096 tokens and a reply of 1,024.
    pub const QWEN3_0_6B: Self = Self {
        hidden: 1024,
        heads: 16,
        kv_heads: 8,
        head_dim: 128,
        intermediate: 3072,
        vocab: 151_936,
        layers: 28,
        capacity: 5120,
        norm_eps: 1e-6,
        qk_norm: true,
        qkv_bias: false,
        tied: true,
    };

    /// The default model, which writes stories.
    pub const STORIES: Self = Self {
        hidden: 256,
        heads: 4,
        kv_heads: 2,
        head_dim: 128,
        intermediate: 768,
        vocab: 4096,
        layers: 6,
        capacity: 512,
        norm_eps: 1e-6,
        qk_norm: true,
        qkv_bias: false,
        tied: true,
    };

    /// The test checkpoint `qwen3-tiny`.
    pub const QWEN3_TINY: Self = Self {
        hidden: 64,
        heads: 4,
        kv_heads: 2,
        head_dim: 32,
        intermediate: 160,
        vocab: 512,
        layers: 2,
        capacity: 64,
        norm_eps: 1e-6,
        qk_norm: true,
        qkv_bias: false,
        tied: true,
    };

    /// The test checkpoint `qwen2-bias`: heads of 16, a bias on q, k and v, no norm on heads.
    pub const QWEN2_TINY: Self = Self {
        hidden: 64,
        heads: 4,
        kv_heads: 2,
        head_dim: 16,
        intermediate: 128,
        vocab: 512,
        layers: 2,
        capacity: 64,
        norm_eps: 1e-6,
        qk_norm: false,
        qkv_bias: true,
        tied: true,
    };

    /// The test checkpoint `llama-d64-odd-heads`: three query heads on one key/value head.
    pub const LLAMA_TINY: Self = Self {
        hidden: 192,
        heads: 3,
        kv_heads: 1,
        head_dim: 64,
        intermediate: 256,
        vocab: 320,
        layers: 2,
        capacity: 64,
        norm_eps: 1e-5,
        qk_norm: false,
        qkv_bias: false,
        tied: true,
    };
}
