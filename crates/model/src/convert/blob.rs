//! The numbers, tile by tile.

use std::ops::Range;

use super::staged::Staged;
use super::{BlobType, is_transposed};
use crate::{Code, Refusal, Role, Tensor};

#[cfg(test)]
mod tests;

/// Elements of a tile: 8 MiB as f64.
const TILE: usize = 1 << 20;

/// Writes `tensors` one after the other.
pub(super) fn write(
    tensors: &[(Role, Tensor<'_>)],
    dtype: BlobType,
    out: &mut Staged,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), Refusal> {
    let elements: usize = tensors.iter().map(|(_, tensor)| tensor.elements()).sum();
    let total = (elements * dtype.stored().block_bytes()) as u64;
    let (mut done, mut bytes) = (0, Vec::new());
    for (role, tensor) in tensors {
        each_tile(tensor, is_transposed(*role), TILE, |values| {
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
    size: usize,
    mut f: impl FnMut(&[f64]) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    if transpose == tensor.transposed && tensor.interleaved.is_none() && !tensor.stored.is_block() {
        // The bytes lie in the wanted order already, whatever the shape.
        let flat = [tensor.elements()];
        let flat = Tensor { shape: &flat, transposed: false, ..tensor.clone() };
        for span in spans(tensor.elements(), size) {
            let mut tile = vec![0.0; span.len()];
            named(tensor, flat.rows_f64(span, &mut tile))?;
            f(&tile)?;
        }
    } else if transpose {
        let (rows, columns) = (tensor.rows(), tensor.row_len());
        // Bands begin where a block of any type does.
        for band in spans(columns, (size / rows).max(1).next_multiple_of(tensor.stored.block_len())) {
            let width = band.len();
            let (mut tile, mut part) = (vec![0.0; width * rows], vec![0.0; width]);
            for row in 0..rows {
                let bytes =
                    &tensor.row_bytes(row)[tensor.stored.bytes(band.start)..tensor.stored.bytes(band.end)];
                let piece = Tensor { shape: &[1, width], interleaved: None, bytes, ..tensor.clone() };
                named(tensor, piece.rows_f64(0..1, &mut part))?;
                for (i, &value) in part.iter().enumerate() {
                    tile[i * rows + row] = value;
                }
            }
            f(&tile)?;
        }
    } else {
        let step = (size / tensor.row_len().max(1)).max(1);
        for span in spans(tensor.rows(), step) {
            let mut tile = vec![0.0; span.len() * tensor.row_len()];
            tensor.rows_f64(span, &mut tile)?;
            f(&tile)?;
        }
    }
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
