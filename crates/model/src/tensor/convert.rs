//! Elements as floats. Every conversion refuses a weight that is not finite, so that no device can load one.

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::{Block, Tensor};
use crate::{Code, Refusal, StoredType};

/// Elements looked at between two checks for a non-finite value.
const TILE: usize = 4096;

impl Tensor<'_> {
    /// Writes logical rows `rows` to `out`, `[rows.len(), row_len]`, as f32. Exact for every stored type but f64,
    /// which is rounded to nearest; blocks stand for the f32 that GGUF's own tools make of them.
    ///
    /// # Errors
    /// `non_finite_weight` naming tensor and index, also for an f64 beyond the range of f32.
    ///
    /// # Panics
    /// When `rows` leaves the tensor or `out` has another length.
    pub fn rows_f32(&self, rows: Range<usize>, out: &mut [f32]) -> Result<(), Refusal> {
        if self.stored.is_block() {
            return self.fill_blocks(rows, out, |value| value);
        }
        match self.stored {
            StoredType::F64 => self.fill(rows, out, |b| f64::from_le_bytes(b) as f32),
            StoredType::F32 => self.fill(rows, out, f32::from_le_bytes),
            StoredType::F16 => self.fill(rows, out, |b| widen_f16(u16::from_le_bytes(b))),
            _ => self.fill(rows, out, |b| widen_bf16(u16::from_le_bytes(b))),
        }
    }

    /// Writes logical rows `rows` to `out`, `[rows.len(), row_len]`, as f64. Exact.
    ///
    /// # Errors
    /// `non_finite_weight` naming tensor and index.
    ///
    /// # Panics
    /// When `rows` leaves the tensor or `out` has another length.
    pub fn rows_f64(&self, rows: Range<usize>, out: &mut [f64]) -> Result<(), Refusal> {
        if self.stored.is_block() {
            return self.fill_blocks(rows, out, f64::from);
        }
        match self.stored {
            StoredType::F64 => self.fill(rows, out, f64::from_le_bytes),
            StoredType::F32 => self.fill(rows, out, |b| f64::from(f32::from_le_bytes(b))),
            StoredType::F16 => self.fill(rows, out, |b| widen_f16(u16::from_le_bytes(b)).into()),
            _ => self.fill(rows, out, |b| widen_bf16(u16::from_le_bytes(b)).into()),
        }
    }

    /// Every element as f32, in logical order.
    ///
    /// # Errors
    /// `non_finite_weight`.
    pub fn to_f32(&self) -> Result<Vec<f32>, Refusal> {
        let mut out = vec![0.0; self.elements()];
        self.rows_f32(0..self.rows(), &mut out)?;
        Ok(out)
    }

    /// Every element as f64, in logical order.
    ///
    /// # Errors
    /// `non_finite_weight`.
    pub fn to_f64(&self) -> Result<Vec<f64>, Refusal> {
        let mut out = vec![0.0; self.elements()];
        self.rows_f64(0..self.rows(), &mut out)?;
        Ok(out)
    }

    /// Checks the elements of `rows` as stored, for a device that copies `bytes` as they are.
    ///
    /// # Errors
    /// `non_finite_weight` naming tensor and index.
    ///
    /// # Panics
    /// When `rows` leaves the tensor.
    pub fn check_finite(&self, rows: Range<usize>) -> Result<(), Refusal> {
        if self.stored.is_block() {
            let mut row = vec![0.0; self.row_len()];
            return rows.into_iter().try_for_each(|at| self.fill_blocks(at..at + 1, &mut row, |value| value));
        }
        match self.stored {
            StoredType::F64 => self.check(rows, |b| f64::from_le_bytes(b).is_finite()),
            StoredType::F32 => self.check(rows, |b| f32::from_le_bytes(b).is_finite()),
            StoredType::F16 => self.check(rows, |b| u16::from_le_bytes(b) & 0x7c00 != 0x7c00),
            _ => self.check(rows, |b| u16::from_le_bytes(b) & 0x7f80 != 0x7f80),
        }
    }

    /// Converts `rows` of blocks.
    fn fill_blocks<T: Float>(
        &self,
        rows: Range<usize>,
        out: &mut [T],
        convert: impl Fn(f32) -> T,
    ) -> Result<(), Refusal> {
        let (row_len, block_len) = (self.row_len(), self.stored.block_len());
        assert!(
            out.len() == rows.len() * row_len && rows.end <= self.rows(),
            "the room for rows of {}",
            self.name
        );
        let mut values = [0.0; 256];
        for (row, out) in rows.zip(out.chunks_mut(row_len.max(1))) {
            let blocks = self.row_bytes(row).chunks(self.stored.block_bytes());
            for (index, (bytes, out)) in blocks.zip(out.chunks_mut(block_len)).enumerate() {
                if let Some(block) = Block::read(self.stored, bytes) {
                    block.fill(&mut values[..block_len]);
                }
                let mut finite = true;
                for (to, value) in out.iter_mut().zip(values) {
                    finite &= value.is_finite();
                    *to = convert(value);
                }
                if !finite {
                    let bad = out.iter().position(|value| !value.is_finite()).unwrap_or(0);
                    return Err(self.non_finite(row * row_len + index * block_len + bad));
                }
            }
        }
        Ok(())
    }

    /// Converts `rows`; `N` is the size of a stored element.
    fn fill<const N: usize, T: Float>(
        &self,
        rows: Range<usize>,
        out: &mut [T],
        read: impl Fn([u8; N]) -> T,
    ) -> Result<(), Refusal> {
        let row_len = self.row_len();
        assert!(out.len() == rows.len() * row_len, "the room for rows of {}", self.name);
        for (at, stride, stored) in self.runs::<N>(&rows) {
            for (tile, stored) in stored.chunks(TILE).enumerate() {
                let at = at + tile * TILE * stride;
                let mut finite = true;
                if stride == 1 {
                    for (to, &element) in out[at..].iter_mut().zip(stored) {
                        *to = read(element);
                        finite &= to.is_finite();
                    }
                } else {
                    for (to, &element) in out[at..].iter_mut().step_by(stride).zip(stored) {
                        *to = read(element);
                        finite &= to.is_finite();
                    }
                }
                if !finite {
                    let bad = stored.iter().position(|&element| !read(element).is_finite()).unwrap_or(0);
                    return Err(self.non_finite(rows.start * row_len + at + bad * stride));
                }
            }
        }
        Ok(())
    }

    /// Checks `rows`; `N` is the size of a stored element.
    fn check<const N: usize>(
        &self,
        rows: Range<usize>,
        is_finite: impl Fn([u8; N]) -> bool,
    ) -> Result<(), Refusal> {
        for (at, stride, stored) in self.runs::<N>(&rows) {
            for (tile, stored) in stored.chunks(TILE).enumerate() {
                // Without an early exit, so that the common case is vectorized.
                if !stored.iter().fold(true, |ok, &element| ok & is_finite(element)) {
                    let bad = stored.iter().position(|&element| !is_finite(element)).unwrap_or(0);
                    let index = at + (tile * TILE + bad) * stride;
                    return Err(self.non_finite(rows.start * self.row_len() + index));
                }
            }
        }
        Ok(())
    }

    /// The stored elements of `rows` in contiguous runs, each with the place of its first element within the rows
    /// and the distance between its elements there.
    fn runs<const N: usize>(&self, rows: &Range<usize>) -> impl Iterator<Item = (usize, usize, &[[u8; N]])> {
        let (elements, _) = self.bytes.as_chunks::<N>();
        let (row_len, rows) = (self.row_len(), rows.clone());
        assert!(rows.start <= rows.end && rows.end <= self.rows(), "rows of {}", self.name);
        // Stored by columns, each column is a run; with interleaved rows each row; else all rows are one.
        let count = match (self.transposed, self.interleaved) {
            (true, _) => row_len,
            (false, Some(_)) => rows.len(),
            (false, None) => 1,
        };
        (0..count).map(move |run| {
            if self.transposed {
                let column = run * self.rows();
                (run, row_len, &elements[column + rows.start..column + rows.end])
            } else if self.interleaved.is_some() {
                let stored = self.stored_row(rows.start + run);
                (run * row_len, 1, &elements[stored * row_len..(stored + 1) * row_len])
            } else {
                (0, 1, &elements[rows.start * row_len..rows.end * row_len])
            }
        })
    }

    /// The refusal for the element at logical position `index`.
    fn non_finite(&self, index: usize) -> Refusal {
        let row_len = self.row_len().max(1);
        let position = match self.shape.len() {
            0 | 1 => format!("[{index}]"),
            _ => format!("[{}, {}]", index / row_len, index % row_len),
        };
        Refusal::new(
            Code::NonFiniteWeight,
            format!("{}{position}", self.name),
            "a finite number",
            "infinity, not-a-number, or a number beyond the range of f32",
        )
    }
}

/// bf16 is the upper half of f32.
fn widen_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// f16 to f32 without a branch, so that it is vectorized: the fraction and exponent moved to their places, then the
/// difference of the exponents' biases multiplied in, which is exact and normalises subnormals. All that is not
/// finite becomes infinity, which is refused.
pub(super) fn widen_f16(bits: u16) -> f32 {
    const BIAS: f32 = f32::from_bits((127 + 112) << 23);
    let magnitude = f32::from_bits(u32::from(bits & 0x7fff) << 13) * BIAS;
    let magnitude = if bits & 0x7c00 == 0x7c00 { f32::INFINITY } else { magnitude };
    f32::from_bits(magnitude.to_bits() | u32::from(bits & 0x8000) << 16)
}

/// What the two float types share here.
trait Float: Copy {
    fn is_finite(self) -> bool;
}

impl Float for f32 {
    fn is_finite(self) -> bool {
        self.is_finite()
    }
}

impl Float for f64 {
    fn is_finite(self) -> bool {
        self.is_finite()
    }
}
