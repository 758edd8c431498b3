//! The weights as the layers use them.

use crate::matmul::Matrix;

/// One decoder layer. Matrices that read the same input are one matrix, their rows one after the other.
pub(crate) struct Layer {
    /// `[hidden]`.
    pub(crate) input_norm: Vec<f32>,
    /// Queries, keys and values, `[q_width + 2 * kv_width, hidden]`.
    pub(crate) qkv: Matrix,
    /// Added to the product with `qkv`.
    pub(crate) qkv_bias: Option<Vec<f32>>,
    /// `[head_dim]`, shared by all query heads.
    pub(crate) q_norm: Option<Vec<f32>>,
    /// `[head_dim]`, shared by all key heads.
    pub(crate) k_norm: Option<Vec<f32>>,
    /// `[hidden, q_width]`.
    pub(crate) o: Matrix,
    /// `[hidden]`.
    pub(crate) post_norm: Vec<f32>,
    /// Gate, then up, `[2 * intermediate, hidden]`.
    pub(crate) gate_up: Matrix,
    /// `[hidden, intermediate]`.
    pub(crate) down: Matrix,
}

/// A decoder's weights in one format.
pub(crate) struct Weights {
    /// `[vocab, hidden]`; `None` when the embedding is the head.
    pub(crate) embedding: Option<Matrix>,
    pub(crate) layers: Vec<Layer>,
    /// `[hidden]`.
    pub(crate) final_norm: Vec<f32>,
    /// `[vocab, hidden]`.
    pub(crate) head: Matrix,
}

impl Weights {
    /// Every matrix, in the order in which they were assembled.
    pub(crate) fn matrices(&self) -> impl Iterator<Item = &Matrix> {
        let layers = self.layers.iter().flat_map(|l| [&l.qkv, &l.o, &l.gate_up, &l.down]);
        layers.chain(&self.embedding).chain([&self.head])
    }

    /// Row `token` of the embedding, as f32.
    pub(crate) fn embed(&self, token: u32, out: &mut [f32]) {
        self.embedding.as_ref().unwrap_or(&self.head).row_f32(token as usize, out);
    }
}
