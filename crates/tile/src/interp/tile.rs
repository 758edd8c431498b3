//! Tiles: 4,096 elements in 32 registers of four SIMD groups, of which each holds 16 rows: element `64·row + column` of them in
//! register `/ 32`, lane `mod 32`.
//!
//! That arrangement is the interpreter's own; no kernel can see it.

use super::access::Failure;
use super::fragment::wide;
use super::program::Reg;
use super::run::{Machine, Simd};
use super::shadow::WHOLE;

/// Rows and columns of a tile.
const SIDE: usize = 64;
/// Rows of a SIMD group.
const ROWS: usize = 16;

impl Machine<'_> {
    /// Some rows of a tile in memory, as f32.
    fn rows(&mut self, simd: &Simd, view: usize, rows: std::ops::Range<usize>) -> Result<Vec<f32>, Failure> {
        let program = self.program;
        let view = &program.views[view];
        let fail = |kind| (0, kind);
        let mut numbers = Vec::with_capacity(rows.len() * SIDE);
        for at in rows.start * SIDE..rows.end * SIDE {
            let element = view.offset + at as u64;
            numbers.push(wide(self.peek(view, element).map_err(fail)?, view.element));
            self.touch(simd, view, element, WHOLE, false).map_err(fail)?;
        }
        Ok(numbers)
    }

    pub(super) fn tile_multiply(
        &mut self,
        simd: &mut Simd,
        dst: Reg,
        [left, right]: [usize; 2],
        transposed: bool,
        sum: Reg,
    ) -> Result<(), Failure> {
        let first = simd.index as usize * ROWS;
        let left = self.rows(simd, left, first..first + ROWS)?;
        let right = self.rows(simd, right, 0..SIDE)?;
        for at in 0..ROWS * SIDE {
            let (row, column) = (at / SIDE, at % SIDE);
            let mut total = f32::from_bits(simd.registers[sum as usize + at / 32][at % 32]);
            for inner in 0..SIDE {
                let factor =
                    if transposed { right[column * SIDE + inner] } else { right[inner * SIDE + column] };
                total = left[row * SIDE + inner].mul_add(factor, total);
            }
            simd.registers[dst as usize + at / 32][at % 32] = total.to_bits();
        }
        Ok(())
    }

    pub(super) fn tile_store(&mut self, simd: &mut Simd, to: usize, src: Reg) -> Result<(), Failure> {
        let program = self.program;
        let view = &program.views[to];
        let fail = |kind| (0, kind);
        for at in 0..ROWS * SIDE {
            let element = view.offset + (simd.index as usize * ROWS * SIDE + at) as u64;
            self.poke(view, element, simd.registers[src as usize + at / 32][at % 32]).map_err(fail)?;
            self.touch(simd, view, element, WHOLE, true).map_err(fail)?;
        }
        Ok(())
    }
}
