//! The facts of a model that every other part works from.

mod keys;
mod read;
mod rope;

pub(crate) use keys::HEAD_DIM;
pub(crate) use read::kv_heads;
#[cfg(test)]
pub(crate) use {keys::KEYS, rope::TYPES as ROPE_TYPES};

use serde::Serialize;

use crate::{Refusal, Rope, StoredType};

/// The published family a configuration belongs to. Only defaults and names hang on it; every gate reads facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// Qwen3 dense: per-head RMSNorm on queries and keys.
    Qwen3,
    /// Qwen2 and Qwen2.5: bias on q, k and v.
    Qwen2,
    /// Llama 2, Llama 3 and relatives.
    Llama,
    /// Mistral without a sliding window.
    Mistral,
}

impl Family {
    /// Every family, in the order they are documented.
    pub const ALL: &[Self] = &[Self::Qwen3, Self::Qwen2, Self::Llama, Self::Mistral];

    /// The value of `model_type` that names it.
    pub fn model_type(self) -> &'static str {
        match self {
            Self::Qwen3 => "qwen3",
            Self::Qwen2 => "qwen2",
            Self::Llama => "llama",
            Self::Mistral => "mistral",
        }
    }

    /// The value of `architectures` that names it.
    pub fn architecture(self) -> &'static str {
        match self {
            Self::Qwen3 => "Qwen3ForCausalLM",
            Self::Qwen2 => "Qwen2ForCausalLM",
            Self::Llama => "LlamaForCausalLM",
            Self::Mistral => "MistralForCausalLM",
        }
    }
}

/// A decoder's shape and constants, checked against each other.
///
/// Sizes are in elements. Produced only by the config reader, so a value of this type is within the supported set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    /// The family named by `model_type`.
    pub family: Family,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Number of decoder layers.
    pub layers: usize,
    /// Number of query heads.
    pub heads: usize,
    /// Number of key/value heads; divides `heads` (GQA, or MQA when 1).
    pub kv_heads: usize,
    /// Width of one head; read, never derived from `hidden / heads`.
    pub head_dim: usize,
    /// Width of the SwiGLU product.
    pub intermediate: usize,
    /// Rows of the embedding and of the head.
    pub vocab: usize,
    /// Epsilon of every RMSNorm.
    pub norm_eps: f64,
    /// Rotary position embedding.
    pub rope: Rope,
    /// Whether the head is the embedding.
    pub tied: bool,
    /// Whether q and k pass a per-head RMSNorm before RoPE.
    pub qk_norm: bool,
    /// Whether q, k and v add a bias.
    pub qkv_bias: bool,
    /// Positions the model was made for.
    pub max_positions: usize,
    /// Ids that begin a text, if the configuration names one.
    pub bos: Option<u32>,
    /// Ids that end a text according to the configuration alone.
    pub eos: Vec<u32>,
    /// Type the weights are stated to be stored in, if stated.
    pub stored: Option<StoredType>,
}

impl Config {
    /// Reads the text of a `config.json` against the closed schema.
    ///
    /// # Errors
    /// `unsupported_architecture`, `rope_contradictory` or `config_invalid`, the first of these that applies, with
    /// the findings of all three.
    pub fn from_json(text: &[u8]) -> Result<Self, Refusal> {
        read::read(text)
    }

    /// Width of all query heads together.
    pub fn q_width(&self) -> usize {
        self.heads * self.head_dim
    }

    /// Width of all key heads (or value heads) together.
    pub fn kv_width(&self) -> usize {
        self.kv_heads * self.head_dim
    }

    /// Query heads that share one key/value head.
    pub fn group(&self) -> usize {
        self.heads / self.kv_heads
    }
}
