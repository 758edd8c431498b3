//! The manifest of a converted checkpoint: `manifest.json` beside `weights.blob`.
//!
//! The blob is raw little-endian elements, f64 or f32, without header, padding or alignment. The manifest says
//! what they are: configuration, prompt ids, and for each tensor where it starts (in elements), how many there
//! are, its shape, and whether it is stored `[in, out]`. This file is the schema in both directions: the types
//! serialize to the published form, and [`Manifest::read`] accepts nothing else.

mod keys;
mod read;

#[cfg(test)]
pub(crate) use keys::KEYS;
pub use read::ReadManifest;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Code, Config, Refusal, RopeScaling};

/// File name of the manifest.
pub const MANIFEST: &str = "manifest.json";
/// File name of the elements.
pub const BLOB: &str = "weights.blob";

/// Largest context the format is defined for; the manifest does not state the model's own.
pub const MAX_POSITIONS: usize = 65_536;

/// A whole manifest. Fields serialize in the order of the format.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Manifest {
    /// Facts of the model.
    pub config: ManifestConfig,
    /// The prompt folded into the checkpoint.
    pub input_ids: Vec<u32>,
    /// Tensors by name, sorted.
    pub tensors: BTreeMap<String, ManifestTensor>,
}

/// Where a tensor lies in the blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ManifestTensor {
    /// First element, counted in elements of the whole blob.
    pub offset: usize,
    /// Number of elements.
    pub n_elements: usize,
    /// Shape as stored: `[in, out]` when transposed.
    pub shape: Vec<usize>,
    /// Whether the elements are those of the transposed matrix.
    pub transposed: bool,
}

/// The configuration as the format states it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "each field is the key of the same name, see `keys`")]
pub struct ManifestConfig {
    pub hidden_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    pub num_key_value_heads: usize,
    pub head_dim: usize,
    pub intermediate_size: usize,
    pub vocab_size: usize,
    pub rope_theta: f64,
    pub rms_norm_eps: f64,
    pub n_tokens: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has_qk_norm: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tie_word_embeddings: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attention_bias: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eos_token_id: Option<OneOrMany>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights_dtype: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rope_scaling_type: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rope_scaling_factor: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rope_scaling_low_freq_factor: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rope_scaling_high_freq_factor: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rope_scaling_original_max_position_embeddings: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rope_freq_factors: Option<Vec<f64>>,
}

/// An id alone, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One id.
    One(u32),
    /// Several.
    Many(Vec<u32>),
}

/// `rope_scaling_type` of llama3.
const ROPE_LLAMA3: u8 = 3;
/// `weights_dtype` of f32 elements; f64 when absent.
const DTYPE_F32: &str = "f32";

impl ManifestConfig {
    /// The facts of `config` for a prompt of `n_tokens`, with f64 elements and one end id left alone.
    ///
    /// # Errors
    /// `unsupported_architecture` for YaRN, whose softmax temperature the format cannot state.
    pub fn new(config: &Config, n_tokens: usize) -> Result<Self, Refusal> {
        let mut this = Self {
            hidden_size: config.hidden,
            num_hidden_layers: config.layers,
            num_attention_heads: config.heads,
            num_key_value_heads: config.kv_heads,
            head_dim: config.head_dim,
            intermediate_size: config.intermediate,
            vocab_size: config.vocab,
            rope_theta: config.rope.theta,
            rms_norm_eps: config.norm_eps,
            n_tokens,
            has_qk_norm: Some(config.qk_norm.into()),
            tie_word_embeddings: Some(config.tied.into()),
            attention_bias: Some(config.qkv_bias.into()),
            eos_token_id: match config.eos[..] {
                [] => None,
                [one] => Some(OneOrMany::One(one)),
                _ => Some(OneOrMany::Many(config.eos.clone())),
            },
            weights_dtype: None,
            rope_scaling_type: None,
            rope_scaling_factor: None,
            rope_scaling_low_freq_factor: None,
            rope_scaling_high_freq_factor: None,
            rope_scaling_original_max_position_embeddings: None,
            rope_freq_factors: None,
        };
        match &config.rope.scaling {
            RopeScaling::None => {}
            &RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_positions } => {
                this.rope_scaling_type = Some(ROPE_LLAMA3);
                this.rope_scaling_factor = Some(factor);
                this.rope_scaling_low_freq_factor = Some(low_freq_factor);
                this.rope_scaling_high_freq_factor = Some(high_freq_factor);
                this.rope_scaling_original_max_position_embeddings = Some(original_max_positions);
            }
            // The format has no linear type; the same divisor for each frequency is the same thing.
            &RopeScaling::Linear { factor } => {
                this.rope_freq_factors = Some(vec![factor; config.head_dim / 2]);
            }
            RopeScaling::Factors(factors) => this.rope_freq_factors = Some(factors.clone()),
            RopeScaling::Yarn { .. } => {
                let expected = "a scaling that the converted form can state: none, linear, llama3, factors";
                return Err(Refusal::new(Code::UnsupportedArchitecture, "rope_scaling", expected, "yarn"));
            }
        }
        Ok(this)
    }

    /// The same in the fixed form, whose facts beyond the shape go without saying. Only for a configuration that
    /// passes [`fixed_arm::check`](crate::fixed_arm::check).
    #[must_use]
    pub fn fixed(self) -> Self {
        Self {
            has_qk_norm: None,
            tie_word_embeddings: None,
            attention_bias: None,
            eos_token_id: None,
            ..self
        }
    }

    /// The same with f32 elements.
    #[must_use]
    pub fn f32(mut self) -> Self {
        self.weights_dtype = Some(DTYPE_F32);
        self
    }
}
