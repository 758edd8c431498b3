//! From a checkpoint to the weights as the layers use them.
//!
//! [`assemble`] knows which tensors make which matrix; where a packed matrix comes from is another's business:
//! [`Packer`] packs it from the checkpoint, the cache reads one packed before.

mod packer;

use std::ops::Range;

use tilewright_backend::Watch;
use tilewright_model::{Checkpoint, Parameters, Refusal, Tensor, WeightFormat};

pub(crate) use packer::Packer;

use crate::matmul::Matrix;
use crate::pool::Pool;
use crate::simd::Isa;
use crate::weights::{Layer, Weights};

/// Where packed matrices come from.
pub(crate) trait Matrices {
    /// Why there is none.
    type Error: From<Refusal>;

    /// One matrix of the rows of all `tensors`, one after the other.
    fn matrix(&mut self, tensors: &[&Tensor<'_>]) -> Result<Matrix, Self::Error>;
}

/// Packs every matrix of `checkpoint`.
///
/// # Errors
/// `non_finite_weight`, `out_of_memory`.
pub(crate) fn pack(
    checkpoint: &Checkpoint,
    format: WeightFormat,
    by: (Isa, &Pool),
    progress: &mut Watch<'_>,
) -> Result<Weights, Refusal> {
    let parameters = checkpoint.parameters();
    let release = |bytes: &[u8]| checkpoint.release(bytes);
    assemble(&parameters, &mut Packer::new(&parameters, format, by, &release, progress)?)
}

/// Asks `from` for every matrix of a model, always in the same order, and reads its vectors.
///
/// # Errors
/// The first error of `from`; `non_finite_weight` in a vector.
pub(crate) fn assemble<M: Matrices>(
    parameters: &Parameters<Tensor<'_>>,
    from: &mut M,
) -> Result<Weights, M::Error> {
    let mut layers = Vec::with_capacity(parameters.layers.len());
    for layer in &parameters.layers {
        layers.push(Layer {
            input_norm: vector(&[&layer.input_norm])?,
            qkv: from.matrix(&[&layer.q, &layer.k, &layer.v])?,
            qkv_bias: match (&layer.q_bias, &layer.k_bias, &layer.v_bias) {
                (Some(q), Some(k), Some(v)) => Some(vector(&[q, k, v])?),
                _ => None,
            },
            q_norm: layer.q_norm.as_ref().map(|t| vector(&[t])).transpose()?,
            k_norm: layer.k_norm.as_ref().map(|t| vector(&[t])).transpose()?,
            o: from.matrix(&[&layer.o])?,
            post_norm: vector(&[&layer.post_norm])?,
            gate_up: from.matrix(&[&layer.gate, &layer.up])?,
            down: from.matrix(&[&layer.down])?,
        });
    }
    let embedding = from.matrix(&[&parameters.embedding])?;
    let final_norm = vector(&[&parameters.final_norm])?;
    let (embedding, head) = match &parameters.head {
        Some(head) => (Some(embedding), from.matrix(&[head])?),
        None => (None, embedding),
    };
    Ok(Weights { embedding, layers, final_norm, head })
}

/// One vector of all `tensors`.
fn vector(tensors: &[&Tensor<'_>]) -> Result<Vec<f32>, Refusal> {
    let mut vector = vec![0.0; tensors.iter().map(|t| t.elements()).sum()];
    read_rows(tensors, 0..vector.len(), &mut vector)?;
    Ok(vector)
}

/// Rows of `tensors` stacked one after the other.
fn read_rows(tensors: &[&Tensor<'_>], rows: Range<usize>, out: &mut [f32]) -> Result<(), Refusal> {
    let (mut first, mut rest) = (0, out);
    for tensor in tensors {
        let end = first + tensor.rows();
        let part = rows.start.max(first)..rows.end.min(end);
        if part.start < part.end {
            let (mine, others) = rest.split_at_mut(part.len() * tensor.row_len());
            tensor.rows_f32(part.start - first..part.end - first, mine)?;
            rest = others;
        }
        first = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
