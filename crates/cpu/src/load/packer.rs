//! Packing matrices from the checkpoint.

use std::ops::Range;

use tilewright_backend::{Progress, Stage, Watch};
use tilewright_model::{Parameters, Refusal, StoredType, Tensor, WeightFormat};

use super::{Matrices, read_rows};
use crate::matmul::Matrix;
use crate::pool::Pool;
use crate::simd::Isa;

/// Gives back what a file's mapping holds of these bytes; they stay readable.
pub(crate) type Release<'a> = dyn Fn(&[u8]) + Sync + 'a;

/// Rows that are given back together. Threads are at most a few panels apart, so all have read them long since.
const ROWS: usize = 1024;

/// Reads rows from the file's mapping, converts and packs them on all threads, and gives back what was read, so that
/// little but the packed weights is ever held.
pub(crate) struct Packer<'a> {
    format: WeightFormat,
    release: &'a Release<'a>,
    isa: Isa,
    pool: &'a Pool,
    progress: &'a mut Watch<'a>,
    done: u64,
    total: u64,
}

impl<'a> Packer<'a> {
    /// A packer that will be asked for every matrix of `parameters`.
    ///
    /// # Errors
    /// That of `progress`.
    pub(crate) fn new(
        parameters: &Parameters<Tensor<'_>>,
        format: WeightFormat,
        (isa, pool): (Isa, &'a Pool),
        release: &'a Release<'a>,
        progress: &'a mut Watch<'a>,
    ) -> Result<Self, Refusal> {
        let mut total = 0;
        let _ = parameters.map(|_, t| total += if t.shape.len() == 2 { t.bytes.len() as u64 } else { 0 });
        let mut packer = Self { format, release, isa, pool, progress, done: 0, total };
        packer.report()?;
        Ok(packer)
    }

    fn report(&mut self) -> Result<(), Refusal> {
        (self.progress)(Progress { stage: Stage::Pack, done: self.done, total: self.total })
    }
}

impl Matrices for Packer<'_> {
    type Error = Refusal;

    fn matrix(&mut self, tensors: &[&Tensor<'_>]) -> Result<Matrix, Refusal> {
        let rows = tensors.iter().map(|t| t.rows()).sum();
        let cols = tensors[0].row_len();
        let read = |rows: Range<usize>, out: &mut [f32]| {
            if rows.start.is_multiple_of(ROWS) && rows.start >= 2 * ROWS {
                let start = rows.start - 2 * ROWS;
                give_back(tensors, start..start + ROWS, self.release);
            }
            read_rows(tensors, rows, out)
        };
        let matrix = match self.format {
            WeightFormat::Gguf if tensors.iter().all(|t| t.stored.is_block()) => {
                Matrix::pack_blocks(self.pool, tensors)?
            }
            // What is not stored as blocks is held as exactly.
            WeightFormat::Gguf if tensors.iter().all(|t| t.stored == StoredType::Bf16) => {
                Matrix::pack(self.pool, self.isa, WeightFormat::Bf16, (rows, cols), &read)?
            }
            format => Matrix::pack(self.pool, self.isa, format, (rows, cols), &read)?,
        };
        tensors.iter().for_each(|t| (self.release)(t.bytes));
        self.done += tensors.iter().map(|t| t.bytes.len() as u64).sum::<u64>();
        self.report()?;
        Ok(matrix)
    }
}

/// Gives back `rows` of stacked `tensors`, as far as they are stored row by row.
fn give_back(tensors: &[&Tensor<'_>], rows: Range<usize>, release: &Release<'_>) {
    let mut first = 0;
    for tensor in tensors {
        let end = first + tensor.rows();
        let (start, stop) = (rows.start.max(first), rows.end.min(end));
        if start < stop && tensor.is_row_major() {
            let bytes = tensor.stored.bytes(tensor.row_len());
            release(&tensor.bytes[(start - first) * bytes..(stop - first) * bytes]);
        }
        first = end;
    }
}
