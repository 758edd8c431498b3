//! From a checkpoint to packed weights.
//!
//! Matrix by matrix: rows are read from the file's mapping, converted and packed by all threads, so nothing but
//! the packed weights and one tile a thread is ever held.

use std::ops::Range;

use tilewright_backend::{Progress, Stage};
use tilewright_model::{Checkpoint, Refusal, Tensor, WeightFormat};

use crate::matmul::Matrix;
use crate::pool::Pool;
use crate::simd::Isa;
use crate::weights::{Layer, Weights};

/// Packs every matrix of `checkpoint`.
///
/// # Errors
/// `non_finite_weight`, `out_of_memory`.
pub(crate) fn pack(
    checkpoint: &Checkpoint,
    format: WeightFormat,
    isa: Isa,
    pool: &Pool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Weights, Refusal> {
    let parameters = checkpoint.parameters();
    let mut loader = Loader { format, isa, pool, progress, done: 0, total: 0 };
    let _ = parameters.try_map(|_, t| {
        loader.total += t.bytes.len() as u64;
        Ok::<(), Refusal>(())
    });
    loader.report();
    let mut layers = Vec::with_capacity(parameters.layers.len());
    for layer in &parameters.layers {
        layers.push(Layer {
            input_norm: loader.vector(&[&layer.input_norm])?,
            qkv: loader.matrix(&[&layer.q, &layer.k, &layer.v])?,
            qkv_bias: match (&layer.q_bias, &layer.k_bias, &layer.v_bias) {
                (Some(q), Some(k), Some(v)) => Some(loader.vector(&[q, k, v])?),
                _ => None,
            },
            q_norm: layer.q_norm.as_ref().map(|t| loader.vector(&[t])).transpose()?,
            k_norm: layer.k_norm.as_ref().map(|t| loader.vector(&[t])).transpose()?,
            o: loader.matrix(&[&layer.o])?,
            post_norm: loader.vector(&[&layer.post_norm])?,
            gate_up: loader.matrix(&[&layer.gate, &layer.up])?,
            down: loader.matrix(&[&layer.down])?,
        });
    }
    let embedding = loader.matrix(&[&parameters.embedding])?;
    let final_norm = loader.vector(&[&parameters.final_norm])?;
    let (embedding, head) = match &parameters.head {
        Some(head) => (Some(embedding), loader.matrix(&[head])?),
        None => (None, embedding),
    };
    Ok(Weights { embedding, layers, final_norm, head })
}

/// Packs and keeps count.
struct Loader<'a> {
    format: WeightFormat,
    isa: Isa,
    pool: &'a Pool,
    progress: &'a mut dyn FnMut(Progress),
    done: u64,
    total: u64,
}

impl Loader<'_> {
    fn report(&mut self) {
        (self.progress)(Progress { stage: Stage::Pack, done: self.done, total: self.total });
    }

    fn count(&mut self, tensors: &[&Tensor<'_>]) {
        self.done += tensors.iter().map(|t| t.bytes.len() as u64).sum::<u64>();
        self.report();
    }

    /// One matrix of the rows of all `tensors`.
    fn matrix(&mut self, tensors: &[&Tensor<'_>]) -> Result<Matrix, Refusal> {
        let rows = tensors.iter().map(|t| t.rows()).sum();
        let cols = tensors[0].row_len();
        let matrix =
            Matrix::pack(self.pool, self.isa, self.format, (rows, cols), &|rows, out: &mut [f32]| {
                read_rows(tensors, rows, out)
            })?;
        self.count(tensors);
        Ok(matrix)
    }

    /// One vector of all `tensors`.
    fn vector(&mut self, tensors: &[&Tensor<'_>]) -> Result<Vec<f32>, Refusal> {
        let mut vector = vec![0.0; tensors.iter().map(|t| t.elements()).sum()];
        read_rows(tensors, 0..vector.len(), &mut vector)?;
        self.count(tensors);
        Ok(vector)
    }
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
