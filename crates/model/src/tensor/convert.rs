//! Elements as floats. Every conversion refuses a weight that is not finite, so that no device can load one.

use std::ops::Range;

use half::{bf16, f16};

use super::Tensor;
use crate::{Code, Refusal, StoredType};

/// Elements looked at between two checks for a non-finite value.
const TILE: usize = 4096;

impl Tensor<'_> {
    /// Writes logical rows `rows` to `out`, `[rows.len(), row_len]`, as f32. Exact for every stored type but f64,
    /// which is rounded to nearest.
    ///
    /// # Errors
    /// `non_finite_weight` naming tensor and index, also for an f64 beyond the range of f32.
    ///
    /// # Panics
    /// When `rows` leaves the tensor or `out` has another length.
    pub fn rows_f32(&self, rows: Range<usize>, out: &mut [f32]) -> Result<(), Refusal> {
        match self.stored {
            StoredType::F64 => self.fill(rows, out, |b| f64::from_le_bytes(b) as f32),
            StoredType::F32 => self.fill(rows, out, f32::from_le_bytes),
            StoredType::F16 => self.fill(rows, out, |b| f16::from_le_bytes(b).to_f32()),
            StoredType::Bf16 => self.fill(rows, out, |b| bf16::from_le_bytes(b).to_f32()),
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
        match self.stored {
            StoredType::F64 => self.fill(rows, out, f64::from_le_bytes),
            StoredType::F32 => self.fill(rows, out, |b| f64::from(f32::from_le_bytes(b))),
            StoredType::F16 => self.fill(rows, out, |b| f16::from_le_bytes(b).to_f64()),
            StoredType::Bf16 => self.fill(rows, out, |b| bf16::from_le_bytes(b).to_f64()),
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

    /// Checks the elements of `rows` without keeping them, for a device that copies `bytes` as they are.
    ///
    /// # Errors
    /// `non_finite_weight` naming tensor and index.
    pub fn check_finite(&self, rows: Range<usize>) -> Result<(), Refusal> {
        let row_len = self.row_len();
        let step = (TILE / row_len.max(1)).max(1);
        let mut tile = vec![0.0; step * row_len];
        for start in rows.clone().step_by(step) {
            let end = rows.end.min(start + step);
            self.rows_f64(start..end, &mut tile[..(end - start) * row_len])?;
        }
        Ok(())
    }

    /// Converts `rows` in tiles. `N` is the size of a stored element.
    fn fill<const N: usize, T: Float>(
        &self,
        rows: Range<usize>,
        out: &mut [T],
        read: impl Fn([u8; N]) -> T,
    ) -> Result<(), Refusal> {
        let row_len = self.row_len();
        assert!(rows.end <= self.rows() && out.len() == rows.len() * row_len, "rows of {}", self.name);
        let (elements, _) = self.bytes.as_chunks::<N>();
        if self.transposed {
            // Column by column of the logical rows, so that the bytes are read in runs.
            for (column, stored) in elements.chunks_exact(self.rows().max(1)).enumerate() {
                for (row, &element) in stored[rows.clone()].iter().enumerate() {
                    out[row * row_len + column] = read(element);
                }
            }
        } else {
            let source = &elements[rows.start * row_len..rows.end * row_len];
            for (to, &element) in out.iter_mut().zip(source) {
                *to = read(element);
            }
        }
        for (tile, values) in out.chunks(TILE).enumerate() {
            // Without an early exit, so that the common case is vectorized.
            if !values.iter().fold(true, |ok, v| ok & v.is_finite()) {
                let at = values.iter().position(|v| !v.is_finite()).unwrap_or(0);
                return Err(self.non_finite(rows.start * row_len + tile * TILE + at));
            }
        }
        Ok(())
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
