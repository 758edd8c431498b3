//! What the host prepares: weights in the layout that kernels read, and the rotary table.
//!
//! Nothing else of the model is computed on the host (A11). The functions take and give plain bytes and numbers.

mod blocks;
mod quantise;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use half::{bf16, f16};
use tilewright_model::{Code, LayerParameters, Parameters, Refusal, Rope, Tensor};
use tilewright_tile::Scalar;

use crate::format::{Format, INT8_GROUP};
use crate::formats::Formats;
use crate::layout::{self, ModelPack, Piece, Slot};
use crate::lossless::{self, Packed};
use crate::shape::Shape;
use blocks::Planes;

/// What a model's weights are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    /// `embedding`, `layers`, `final_norm` and (untied) `head`, each with its bytes.
    pub resources: BTreeMap<&'static str, Vec<u8>>,
    /// What became pairs, every element of it compared bit by bit with its number.
    pub packed: Packed,
}

/// The weights in their formats.
///
/// Blocks whose format keeps them are taken as they are stored. Of everything else `numbers` gives the numbers, in row-major
/// order. `Format::Pairs` takes their upper halves, and numbers that these do not give back are refused. Peak memory is that
/// of the result and of one layer in f32.
///
/// # Errors
/// What `numbers` gives; `non_finite_weight`; `packed_weights_differ`.
pub fn weights(
    parameters: &Parameters<Tensor<'_>>,
    shape: &Shape,
    formats: &Formats,
    mut numbers: impl FnMut(&Tensor<'_>) -> Result<Vec<f32>, Refusal>,
) -> Result<Weights, Refusal> {
    let vocabulary = [shape.vocab, shape.hidden];
    let mut packed = Packed::default();
    let mut alone = |tensor: &Tensor<'_>, extents, format| {
        counted(&[Piece::whole(extents, format)], &[tensor], &mut numbers, &mut packed.vocabulary)
    };
    let mut resources = BTreeMap::new();
    resources.insert("embedding", alone(&parameters.embedding, vocabulary, formats.embedding())?);
    if let Some(head) = &parameters.head {
        resources.insert("head", alone(head, vocabulary, formats.head())?);
    }
    let vectors = Format::Float(formats.vectors());
    resources.insert("final_norm", alone(&parameters.final_norm, [1, shape.hidden], vectors)?);

    let packs = ModelPack::new(shape, formats);
    let mut layers = Vec::with_capacity(packs.bytes() as usize);
    for (n, layer) in (0..).zip(&parameters.layers) {
        for of in layout::Tensor::ALL {
            let (pack, parts) = (packs.layer(n).1, parts(layer, of));
            layers.extend(counted(pack.pieces(of), &parts, &mut numbers, &mut packed.layers)?);
        }
    }
    resources.insert("layers", layers);
    Ok(Weights { resources, packed })
}

/// The bytes of `pieces` of a matrix, which follow one another, made of the stacked `tensors`; as in [`weights`].
///
/// # Errors
/// What `numbers` gives; `non_finite_weight`; `packed_weights_differ`.
pub fn matrix(
    pieces: &[Piece],
    tensors: &[&Tensor<'_>],
    numbers: &mut impl FnMut(&Tensor<'_>) -> Result<Vec<f32>, Refusal>,
) -> Result<Vec<u8>, Refusal> {
    counted(pieces, tensors, numbers, &mut 0)
}

/// The same, which adds the elements that became pairs to `packed`.
fn counted(
    pieces: &[Piece],
    tensors: &[&Tensor<'_>],
    numbers: &mut impl FnMut(&Tensor<'_>) -> Result<Vec<f32>, Refusal>,
    packed: &mut u64,
) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    let mut rest = tensors.iter();
    for Piece { rows, columns, format, slot, .. } in pieces {
        let (mut held, mut mine) = (0, Vec::new());
        while held < *rows as usize * *columns as usize
            && let Some(tensor) = rest.next()
        {
            held += tensor.elements();
            mine.push(*tensor);
        }
        let start = bytes.len();
        bytes.resize(start + (slot.end() - slot.offset) as usize, 0);
        put(&mut bytes[start..], Slot { offset: 0, ..*slot }, *format, &mine, numbers, packed)?;
    }
    Ok(bytes)
}

/// Rows of `columns` numbers as [`Format::INT8`] stores them, for those who quantise a matrix by parts: a code for each
/// number, and two bytes for the scale of each group of a row.
pub fn int8_rows(numbers: &[f32], columns: usize, codes: &mut [u8], scales: &mut [u8]) {
    quantise::int8(numbers, (columns, INT8_GROUP), codes, (scales, Scalar::Bf16));
}

/// What the codes of a row of `columns` and their scales stand for.
pub fn int8_numbers(codes: &[u8], scales: &[u8], columns: usize, out: &mut [f32]) {
    let rows = codes.chunks(columns.max(1)).flat_map(|row| row.chunks(INT8_GROUP));
    let mut out = out.iter_mut();
    for (group, scale) in rows.zip(scales.as_chunks().0) {
        let scale = bf16::from_le_bytes(*scale).to_f32();
        let numbers = group.iter().map(|code| f32::from(code.cast_signed()) * scale);
        out.by_ref().zip(numbers).for_each(|(out, number)| *out = number);
    }
}

/// The stored tensors that a tensor of the pack is made of, stacked.
pub(crate) fn parts<T>(layer: &LayerParameters<T>, tensor: layout::Tensor) -> Vec<&T> {
    match tensor {
        layout::Tensor::InputNorm => vec![&layer.input_norm],
        layout::Tensor::Qkv => vec![&layer.q, &layer.k, &layer.v],
        layout::Tensor::Output => vec![&layer.o],
        layout::Tensor::PostNorm => vec![&layer.post_norm],
        layout::Tensor::GateUp => vec![&layer.gate, &layer.up],
        layout::Tensor::Down => vec![&layer.down],
        layout::Tensor::QNorm => layer.q_norm.iter().collect(),
        layout::Tensor::KNorm => layer.k_norm.iter().collect(),
        layout::Tensor::QkvBias => {
            [&layer.q_bias, &layer.k_bias, &layer.v_bias].into_iter().flatten().collect()
        }
    }
}

/// Puts stacked tensors into their slot.
fn put(
    bytes: &mut [u8],
    slot: Slot,
    format: Format,
    tensors: &[&Tensor<'_>],
    numbers: &mut impl FnMut(&Tensor<'_>) -> Result<Vec<f32>, Refusal>,
    packed: &mut u64,
) -> Result<(), Refusal> {
    let mut planes = Planes::of(bytes, slot);
    for tensor in tensors {
        if format.keeps(tensor.stored) {
            planes.put_blocks(format, tensor)?;
            continue;
        }
        let (rows, columns) = (tensor.rows() as u32, tensor.row_len() as u32);
        let mine = Slot::of_matrix([rows, columns], format);
        let mut bytes = vec![0; mine.end() as usize];
        let numbers = numbers(tensor)?;
        put_numbers(&mut bytes, mine, format, columns, &numbers);
        if format == Format::Pairs {
            verify(tensor.name, &numbers, bytes.get(..2 * numbers.len()).unwrap_or(&bytes))?;
            *packed += numbers.len() as u64;
        }
        for (n, (plane, (start, _))) in format.planes(columns).into_iter().zip(mine.places()).enumerate() {
            let length = rows as usize * plane.columns as usize * plane.scalar.bytes() as usize;
            planes.put(n, &bytes[start as usize..][..length]);
        }
    }
    Ok(())
}

/// Refuses pairs that do not give back the numbers of a tensor.
fn verify(name: &str, numbers: &[f32], pairs: &[u8]) -> Result<(), Refusal> {
    lossless::verify_bytes(numbers, pairs).map_err(|lossless::RoundTripMismatch { at }| {
        let expected = numbers.get(at).map_or("an even count".to_owned(), |number| number.to_string());
        let got = lossless::rebuilt(pairs, at).map_or("nothing".to_owned(), |number| number.to_string());
        Refusal::new(Code::PackedWeightsDiffer, format!("{name}[{at}]"), expected, got)
    })
}

/// Puts rows of `columns` numbers into their slot. K-blocks are only ever taken as they are stored.
fn put_numbers(bytes: &mut [u8], slot: Slot, format: Format, columns: u32, numbers: &[f32]) {
    let (start, end) = (slot.offset as usize, slot.end() as usize);
    let (codes, scales) = bytes[start..end].split_at_mut(slot.planes[0] as usize);
    let columns = columns as usize;
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
        Format::Int8 { group, scale } => {
            quantise::int8(numbers, (columns, group as usize), codes, (scales, scale));
        }
        Format::Int4 { group, scale } => {
            quantise::int4(numbers, (columns, group as usize), codes, (scales, scale));
        }
        Format::Q4K | Format::Q6K => {}
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
