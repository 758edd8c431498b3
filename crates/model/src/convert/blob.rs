//! The numbers, tile by tile.

use std::ops::Range;

use super::staged::Staged;
use super::{BlobType, Rounding, is_transposed};
use crate::{Code, Refusal, Role, Tensor};

#[cfg(test)]
mod tests;

/// Elements of a tile: 8 MiB as f64.
const TILE: usize = 1 << 20;

/// Writes `tensors` one after the other.
pub(super) fn write(
    tensors: &[(Role, Tensor<'_>)],
    (dtype, rounding): (BlobType, Option<Rounding<'_>>),
    out: &mut Staged,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), Refusal> {
    let elements: usize = tensors.iter().map(|(_, tensor)| tensor.elements()).sum();
    let total = (elements * dtype.stored().block_bytes()) as u64;
    let (mut done, mut bytes) = (0, Vec::new());
    for (role, tensor) in tensors {
        each_tile(tensor, is_transposed(*role), (TILE, rounding), |values| {
            bytes.clear();
            encode(tensor, values, dtype, &mut bytes)?;
            out.write(&bytes)?;
            done += bytes.len() as u64;
            progress(done, total);
            Ok(())
        })?;
    }
    Ok(())
}

/// Hands `f` the elements in the order of the blob, transposed or as the logical shape has them, some `size` at a time.
fn each_tile(
    tensor: &Tensor<'_>,
    transpose: bool,
    (size, rounding): (usize, Option<Rounding<'_>>),
    mut f: impl FnMut(&[f64]) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let as_it_lies =
        transpose == tensor.transposed && tensor.interleaved.is_none() && !tensor.stored.is_block();
    if as_it_lies && rounding.is_none() {
        // The bytes lie in the wanted order already, whatever the shape.
        let flat = [tensor.elements()];
        let flat = Tensor { shape: &flat, transposed: false, ..tensor.clone() };
        for span in spans(tensor.elements(), size) {
            let mut tile = vec![0.0; span.len()];
            named(tensor, flat.rows_f64(span, &mut tile))?;
            f(&tile)?;
        }
    } else if transpose {
        let rows = tensor.rows();
        // Bands begin where a block of any type does, and a group of any rounding.
        let group = if rounding.is_some() { Rounding::GROUP } else { tensor.stored.block_len() };
        for band in spans(tensor.row_len(), (size / rows).max(1).next_multiple_of(group)) {
            let width = band.len();
            let (mut tile, mut part) = (vec![0.0; width * rows], vec![0.0; width * rows]);
            read_band(tensor, band, &mut part)?;
            rounded(rounding, tensor, &mut part, width)?;
            for (row, part) in part.chunks(width).enumerate() {
                part.iter().enumerate().for_each(|(i, value)| tile[i * rows + row] = *value);
            }
            f(&tile)?;
        }
    } else {
        let step = (size / tensor.row_len().max(1)).max(1);
        for span in spans(tensor.rows(), step) {
            let mut tile = vec![0.0; span.len() * tensor.row_len()];
            tensor.rows_f64(span, &mut tile)?;
            rounded(rounding, tensor, &mut tile, tensor.row_len())?;
            f(&tile)?;
        }
    }
    Ok(())
}

/// Writes some columns of every row, `[rows, band.len()]`.
fn read_band(tensor: &Tensor<'_>, band: Range<usize>, out: &mut [f64]) -> Result<(), Refusal> {
    let (rows, width) = (tensor.rows(), band.len());
    let within = tensor.stored.bytes(band.start)..tensor.stored.bytes(band.end);
    if tensor.transposed {
        let bytes = &tensor.bytes[within.start * rows..within.end * rows];
        let piece = Tensor { shape: &[rows, width], bytes, ..tensor.clone() };
        return named(tensor, piece.rows_f64(0..rows, out));
    }
    for (row, out) in out.chunks_mut(width).enumerate() {
        let bytes = &tensor.row_bytes(row)[within.clone()];
        let piece = Tensor { shape: &[1, width], interleaved: None, bytes, ..tensor.clone() };
        named(tensor, piece.rows_f64(0..1, out))?;
    }
    Ok(())
}

/// Rounds rows of `n` elements, which are f32 from then on.
fn rounded(
    rounding: Option<Rounding<'_>>,
    tensor: &Tensor<'_>,
    values: &mut [f64],
    n: usize,
) -> Result<(), Refusal> {
    if rounding.is_none() || tensor.shape.len() != 2 {
        return Ok(());
    }
    let mut narrow: Vec<f32> = values.iter().map(|value| *value as f32).collect();
    Rounding::apply(rounding, tensor, &mut narrow, n)?;
    values.iter_mut().zip(narrow).for_each(|(value, narrow)| *value = narrow.into());
    Ok(())
}

/// A refusal about a part of `tensor`, restated with the position in the whole.
fn named(tensor: &Tensor<'_>, part: Result<(), Refusal>) -> Result<(), Refusal> {
    part.map_err(|refusal| tensor.check_finite(0..tensor.rows()).err().unwrap_or(refusal))
}

fn spans(len: usize, step: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len).step_by(step).map(move |start| start..len.min(start + step))
}

/// Appends `values` as elements of the blob.
fn encode(tensor: &Tensor<'_>, values: &[f64], dtype: BlobType, bytes: &mut Vec<u8>) -> Result<(), Refusal> {
    match dtype {
        BlobType::F64 => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
        BlobType::F32 => {
            if let Some(value) = values.iter().find(|&&value| f64::from(value as f32) != value) {
                let expected = "values that f32 holds exactly";
                return Err(Refusal::new(Code::InexactConversion, tensor.name, expected, value));
            }
            bytes.extend(values.iter().flat_map(|&value| (value as f32).to_le_bytes()));
        }
    }
    Ok(())
}
