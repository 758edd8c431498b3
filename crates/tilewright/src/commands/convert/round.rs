//! Rounding to what a format of run time holds: the CPU's own packing, and back.

use std::ops::Range;

use tilewright_cpu::matmul::Matrix;
use tilewright_cpu::pool::Pool;
use tilewright_cpu::simd::Isa;
use tilewright_model::convert::RoundRows;

use super::mixture::Mixture;

/// The rounding of a mixture that is none of blocks.
pub(super) fn by(mixture: Option<Mixture>) -> Option<Box<RoundRows<'static>>> {
    let Some(Mixture::Format(format)) = mixture else { return None };
    let (pool, isa) = (Pool::new(std::thread::available_parallelism().map_or(1, usize::from)), Isa::detect());
    Some(Box::new(move |values: &mut [f32], columns: usize| {
        let source: &[f32] = values;
        let read = |rows: Range<usize>, out: &mut [f32]| {
            out.copy_from_slice(&source[rows.start * columns..rows.end * columns]);
            Ok(())
        };
        let matrix = Matrix::pack(&pool, isa, format, (source.len() / columns, columns), &read)?;
        values.chunks_exact_mut(columns).enumerate().for_each(|(row, out)| matrix.row_f32(row, out));
        Ok(())
    }))
}
