//! Blocks of one matrix of results that several threads write at once.

use std::marker::PhantomData;
use std::ops::Range;

/// Some columns of some rows of a row-major matrix, nobody else's.
pub(super) struct Block<'a> {
    start: *mut f32,
    stride: usize,
    rows: Range<usize>,
    cols: Range<usize>,
    matrix: PhantomData<&'a mut [f32]>,
}

// SAFETY: a block is the only access to its elements, as `&mut [f32]` would be.
unsafe impl Send for Block<'_> {}

impl<'a> Block<'a> {
    /// Cuts `matrix`, `[_, cols]`, at the ends of `row_ranges` and `col_ranges`, each consecutive from 0. Blocks of
    /// the same rows follow one another.
    ///
    /// # Panics
    /// When the ranges are not consecutive or go beyond the matrix.
    pub(super) fn cut(
        matrix: &'a mut [f32],
        cols: usize,
        row_ranges: &[Range<usize>],
        col_ranges: &[Range<usize>],
    ) -> Vec<Self> {
        for ranges in [row_ranges, col_ranges] {
            let starts = ranges.iter().map(|r| r.start);
            assert!(
                starts.eq([0].into_iter().chain(ranges.iter().map(|r| r.end)).take(ranges.len())),
                "no gaps"
            );
            assert!(ranges.iter().all(|r| r.start <= r.end), "ranges go forward");
        }
        let rows = row_ranges.last().map_or(0, |r| r.end);
        assert!(
            rows * cols <= matrix.len() && col_ranges.last().map_or(0, |c| c.end) <= cols,
            "within the matrix"
        );
        let start = matrix.as_mut_ptr();
        let block = |rows: &Range<usize>, cols_: &Range<usize>| Self {
            start,
            stride: cols,
            rows: rows.clone(),
            cols: cols_.clone(),
            matrix: PhantomData,
        };
        row_ranges.iter().flat_map(|rows| col_ranges.iter().map(move |cols| block(rows, cols))).collect()
    }

    pub(super) fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    pub(super) fn cols(&self) -> Range<usize> {
        self.cols.clone()
    }

    /// The elements of row `row` at `cols`, both counted in the whole matrix.
    ///
    /// # Panics
    /// When they are not all in the block.
    pub(super) fn segment(&mut self, row: usize, cols: Range<usize>) -> &mut [f32] {
        assert!(self.rows.contains(&row), "a row of the block");
        assert!(
            self.cols.start <= cols.start && cols.start <= cols.end && cols.end <= self.cols.end,
            "its columns"
        );
        // SAFETY: `cut` checked that the block lies in the matrix, which is borrowed for `'a`, and that blocks are
        // disjoint; `&mut self` makes this the only reference into this one.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(row * self.stride + cols.start), cols.len()) }
    }
}
