//! What the host prepares: weights in the layout that kernels read, and the rotary table.
//!
//! Nothing else of the model is computed on the host (A11). The functions take and give plain bytes and numbers.

mod quantise;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use half::{bf16, f16};
use tilewright_model::{LayerParameters, Parameters, Refusal, Rope};
use tilewright_tile::Scalar;

use crate::format::Format;
use crate::layout::{LayerPack, Slot, Tensor};
use crate::shape::Shape;

/// The resources `embedding`, `layers`, `final_norm` and (untied) `head`, each with its bytes.
///
/// `Format::Pairs` takes the upper halves of the numbers; [`lossless::check`](crate::lossless::check) tells whether
/// that loses anything. Peak memory is that of the result and of one layer in f32.
///
/// # Errors
/// What `tensor` gives when asked for a tensor's numbers, in row-major order.
pub fn weights<T>(
    parameters: &Parameters<T>,
    shape: &Shape,
    format: Format,
    mut tensor: impl FnMut(&T) -> Result<Vec<f32>, Refusal>,
) -> Result<BTreeMap<&'static str, Vec<u8>>, Refusal> {
    let vocabulary = [shape.vocab, shape.hidden];
    let slot = Slot::of_matrix(vocabulary, format);
    let alone = |numbers: &[f32]| {
        let mut bytes = vec![0; slot.end() as usize];
        put(&mut bytes, slot, format, shape.hidden, numbers);
        bytes
    };
    let mut resources = BTreeMap::new();
    resources.insert("embedding", alone(&tensor(&parameters.embedding)?));
    if let Some(head) = &parameters.head {
        resources.insert("head", alone(&tensor(head)?));
    }
    let vectors = Format::Float(format.vectors());
    let slot = Slot::of_matrix([1, shape.hidden], vectors);
    let mut final_norm = vec![0; slot.end() as usize];
    put(&mut final_norm, slot, vectors, shape.hidden, &tensor(&parameters.final_norm)?);
    resources.insert("final_norm", final_norm);

    let pack = LayerPack::new(shape, format);
    let mut layers = Vec::with_capacity(pack.bytes() as usize * parameters.layers.len());
    for layer in &parameters.layers {
        let start = layers.len();
        layers.resize(start + pack.bytes() as usize, 0);
        for of in Tensor::ALL {
            let format = if of.is_matrix() { format } else { vectors };
            let mut numbers = Vec::new();
            for part in parts(layer, of) {
                numbers.extend(tensor(part)?);
            }
            let [_, columns] = of.extents(shape);
            put(&mut layers[start..], pack.slot(of), format, columns, &numbers);
        }
    }
    resources.insert("layers", layers);
    Ok(resources)
}

/// The stored tensors that a tensor of the pack is made of, stacked.
pub(crate) fn parts<T>(layer: &LayerParameters<T>, tensor: Tensor) -> Vec<&T> {
    match tensor {
        Tensor::InputNorm => vec![&layer.input_norm],
        Tensor::Qkv => vec![&layer.q, &layer.k, &layer.v],
        Tensor::Output => vec![&layer.o],
        Tensor::PostNorm => vec![&layer.post_norm],
        Tensor::GateUp => vec![&layer.gate, &layer.up],
        Tensor::Down => vec![&layer.down],
        Tensor::QNorm => layer.q_norm.iter().collect(),
        Tensor::KNorm => layer.k_norm.iter().collect(),
        Tensor::QkvBias => [&layer.q_bias, &layer.k_bias, &layer.v_bias].into_iter().flatten().collect(),
    }
}

/// Puts rows of `columns` numbers into their slot.
fn put(bytes: &mut [u8], slot: Slot, format: Format, columns: u32, numbers: &[f32]) {
    let (start, end) = (slot.offset as usize, slot.end() as usize);
    let (codes, scales) = bytes[start..end].split_at_mut(slot.bytes as usize);
    match format {
        Format::Float(scalar) => {
            let size = scalar.bytes() as usize;
            for (out, &number) in codes.chunks_exact_mut(size).zip(numbers) {
                put_float(out, scalar, number);
            }
        }
        Format::Pairs => {
            for (out, number) in codes.as_chunks_mut().0.iter_mut().zip(numbers) {
                *out = ((number.to_bits() >> 16) as u16).to_le_bytes();
            }
        }
        Format::Int8 { group } => quantise::int8(numbers, columns as usize, group as usize, codes, scales),
        Format::Int4 { group } => quantise::int4(numbers, columns as usize, group as usize, codes, scales),
    }
}

/// Appends a number as memory of type `scalar` keeps it.
pub(crate) fn push_float(bytes: &mut Vec<u8>, scalar: Scalar, number: f32) {
    let start = bytes.len();
    bytes.resize(start + scalar.bytes() as usize, 0);
    put_float(&mut bytes[start..], scalar, number);
}

fn put_float(out: &mut [u8], scalar: Scalar, number: f32) {
    match scalar {
        Scalar::F16 => out.copy_from_slice(&f16::from_f32(number).to_le_bytes()),
        Scalar::Bf16 => out.copy_from_slice(&bf16::from_f32(number).to_le_bytes()),
        _ => out.copy_from_slice(&number.to_le_bytes()),
    }
}

/// The resource `rotary`: cosine and sine of every position and pair, from f64 rounded once.
pub fn rotary(rope: &Rope, shape: &Shape) -> Vec<f32> {
    let frequencies = rope.inv_freq(shape.head_dim as usize);
    let factor = rope.attention_factor();
    let entry = |angle: f64| [(angle.cos() * factor) as f32, (angle.sin() * factor) as f32];
    let row =
        |position: u32| frequencies.iter().flat_map(move |frequency| entry(f64::from(position) * frequency));
    (0..shape.capacity).flat_map(row).collect()
}
