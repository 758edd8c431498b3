//! The shape of a decoder, as kernels are specialised to it.

mod samples;
#[cfg(test)]
mod tests;

use std::ops::Range;

use tilewright_model::Config;

pub use samples::{SAMPLES, Sample};

/// Sizes and facts of a decoder. A kernel is compiled for one shape; all sizes are in elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Width of the residual stream.
    pub hidden: u32,
    /// Query heads.
    pub heads: u32,
    /// Key/value heads; divides `heads`.
    pub kv_heads: u32,
    /// Width of one head; even.
    pub head_dim: u32,
    /// Width of the SwiGLU product.
    pub intermediate: u32,
    /// Rows of the embedding and of the head.
    pub vocab: u32,
    /// Decoder layers.
    pub layers: u32,
    /// Positions a cache holds.
    pub capacity: u32,
    /// Epsilon of every RMSNorm.
    pub norm_eps: f32,
    /// Whether queries and keys pass a per-head RMSNorm before rotation (Qwen3).
    pub qk_norm: bool,
    /// Whether queries, keys and values add a bias (Qwen2).
    pub qkv_bias: bool,
    /// Whether the head is the embedding.
    pub tied: bool,
}

impl Shape {
    /// The shape of a model whose cache holds `capacity` positions.
    ///
    /// A size beyond `u32` becomes `u32::MAX`, which no kernel is accepted for.
    pub fn new(config: &Config, capacity: u32) -> Self {
        let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            hidden: size(config.hidden),
            heads: size(config.heads),
            kv_heads: size(config.kv_heads),
            head_dim: size(config.head_dim),
            intermediate: size(config.intermediate),
            vocab: size(config.vocab),
            layers: size(config.layers),
            capacity,
            norm_eps: config.norm_eps as f32,
            qk_norm: config.qk_norm,
            qkv_bias: config.qkv_bias,
            tied: config.tied,
        }
    }

    /// Width of all query heads together.
    pub const fn q_width(&self) -> u32 {
        self.heads.saturating_mul(self.head_dim)
    }

    /// Width of all key heads (or value heads) together.
    pub const fn kv_width(&self) -> u32 {
        self.kv_heads.saturating_mul(self.head_dim)
    }

    /// Rows of the query, key and value projections stacked.
    pub const fn qkv_width(&self) -> u32 {
        self.q_width().saturating_add(self.kv_width().saturating_mul(2))
    }

    /// What some rows of those are called in kernel names: `_q`, `_k`, `_v`, neighbours together, nothing for all.
    pub(crate) fn qkv_part(&self, rows: &Range<u32>) -> &'static str {
        let values = self.q_width().saturating_add(self.kv_width());
        match (rows.start, rows.end) {
            (0, end) if end == self.qkv_width() => "",
            (0, end) if end == values => "_qk",
            (0, _) => "_q",
            (start, _) if start == values => "_v",
            (_, end) if end == values => "_k",
            _ => "_kv",
        }
    }

    /// Query heads that share one key/value head.
    pub const fn group(&self) -> u32 {
        self.heads / self.kv_heads
    }

    /// Pairs of a head that turn together.
    pub const fn pairs(&self) -> u32 {
        self.head_dim / 2
    }

    /// The factor on attention scores, `1 / sqrt(head_dim)` rounded to f32 once.
    pub fn attention_scale(&self) -> f32 {
        (1.0 / f64::from(self.head_dim).sqrt()) as f32
    }

    /// The same with room for `capacity` positions.
    #[must_use]
    pub const fn with_capacity(self, capacity: u32) -> Self {
        Self { capacity, ..self }
    }
}
