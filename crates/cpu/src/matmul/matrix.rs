//! Packed matrices.

use std::ops::Range;
use std::sync::Mutex;

use half::bf16;
use tilewright_model::{Code, Refusal, WeightFormat};

use super::layout::{Layout, Line, PANEL};
use super::pack;
use crate::memory::Pages;
use crate::pool::Pool;
use crate::simd::Isa;

/// Writes rows of a range, one after the other, as f32.
pub type ReadRows<'a> = dyn Fn(Range<usize>, &mut [f32]) -> Result<(), Refusal> + Sync + 'a;

/// A matrix of `rows` outputs and `cols` inputs, packed for [`matmul`](super::matmul).
pub struct Matrix {
    layout: Layout,
    bytes: Pages<u8>,
}

impl Matrix {
    /// Packs what `read` writes. It is called from all threads, once for every row, with a few rows at a time, so
    /// packing holds little more than the result.
    ///
    /// # Errors
    /// `out_of_memory`, `non_finite_weight`, or what `read` returns for the first rows that have an error.
    ///
    /// # Panics
    /// When there are no inputs.
    pub fn pack(
        pool: &Pool,
        isa: Isa,
        format: WeightFormat,
        (rows, cols): (usize, usize),
        read: &ReadRows<'_>,
    ) -> Result<Self, Refusal> {
        assert!(cols > 0, "a matrix has inputs");
        let layout = Layout { format, rows, cols };
        let mut bytes = Pages::zeroed(layout.bytes())?;
        let first: Mutex<Option<(usize, Refusal)>> = Mutex::new(None);
        let size = layout.panel_lines() * size_of::<Line>();
        let mut panels: Vec<(usize, &mut [u8])> = bytes.chunks_mut(size).enumerate().collect();
        // Threads work far from one another: a large page that two of them touch first is cleared by both.
        let stripe = panels.len().div_ceil(pool.threads()).max(1);
        panels.sort_by_key(|(panel, _)| panel % stripe);
        pool.for_each(&mut panels, |(panel, bytes)| {
            let from = *panel * PANEL;
            if let Err(refusal) = pack_panel(isa, layout, from..rows.min(from + PANEL), bytes, read) {
                let mut first = first.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if first.as_ref().is_none_or(|(before, _)| *panel < *before) {
                    *first = Some((*panel, refusal));
                }
            }
        });
        match first.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            Some((_, refusal)) => Err(refusal),
            None => Ok(Self { layout, bytes }),
        }
    }

    /// A matrix packed before, from its [`bytes`](Self::bytes); `None` when they are not as many as it has.
    pub(crate) fn from_pages(
        format: WeightFormat,
        (rows, cols): (usize, usize),
        bytes: Pages<u8>,
    ) -> Option<Self> {
        let layout = Layout { format, rows, cols };
        (cols > 0 && layout.bytes() == bytes.len()).then_some(Self { layout, bytes })
    }

    /// Outputs.
    pub fn rows(&self) -> usize {
        self.layout.rows
    }

    /// Inputs.
    pub fn cols(&self) -> usize {
        self.layout.cols
    }

    /// The format.
    pub fn format(&self) -> WeightFormat {
        self.layout.format
    }

    /// The packed form, the same on every machine.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// The lines of one panel.
    pub(super) fn panel(&self, index: usize) -> &[Line] {
        let lines = self.layout.panel_lines();
        &self.bytes.as_chunks().0[index * lines..(index + 1) * lines]
    }

    /// Row `row` as it is multiplied, that is after rounding to the format.
    ///
    /// # Panics
    /// When there is no such row, or `out` is not as long as one.
    pub fn row_f32(&self, row: usize, out: &mut [f32]) {
        assert!(row < self.layout.rows && out.len() == self.layout.cols, "a row of the matrix");
        let (lines, row) = (self.panel(row / PANEL), row % PANEL);
        match self.layout.format {
            WeightFormat::F32 | WeightFormat::F16 => {
                for (w, [low, high]) in out.iter_mut().zip(lines.as_chunks().0) {
                    let line: &Line = if row < 16 { low } else { high };
                    *w = f32::from_bits(u32::from_le_bytes(line.as_chunks().0[row % 16]));
                }
            }
            WeightFormat::Bf16 => {
                for (w, line) in out.iter_mut().zip(lines) {
                    *w = half_of(line, row);
                }
            }
            WeightFormat::Int8 => self.integers(lines, row, out, |line, row, k| {
                i32::from(line[k / 4 * 2 + row / 16][row % 16 * 4 + k % 4]) - 128
            }),
            WeightFormat::Int4 => self.integers(lines, row, out, |line, row, k| {
                let byte = line[k / 8 * 2 + row / 16][row % 16 * 4 + k % 4];
                i32::from(byte >> (k % 8 / 4 * 4) & 15) - 8
            }),
        }
    }

    /// A row of integers: `weight` finds the one of row and input in the lines of a group.
    fn integers(
        &self,
        lines: &[Line],
        row: usize,
        out: &mut [f32],
        weight: impl Fn(&[Line], usize, usize) -> i32,
    ) {
        let per_word = if self.layout.format == WeightFormat::Int8 { 2 } else { 1 };
        let mut lines = lines;
        for (words, out) in self.layout.group_words().zip(out.chunks_mut(self.layout.group())) {
            let (group, rest) = lines.split_at(1 + per_word * words);
            let scale = half_of(&group[0], row);
            for (k, w) in out.iter_mut().enumerate() {
                *w = weight(&group[1..], row, k) as f32 * scale;
            }
            lines = rest;
        }
    }
}

/// The bfloat16 of row `row` in a line that holds one for every row of a panel.
fn half_of(line: &Line, row: usize) -> f32 {
    let at = row % 16 * 4 + row / 16 * 2;
    bf16::from_le_bytes([line[at], line[at + 1]]).to_f32()
}

/// Reads and packs the rows of one panel.
fn pack_panel(
    isa: Isa,
    layout: Layout,
    rows: Range<usize>,
    bytes: &mut [u8],
    read: &ReadRows<'_>,
) -> Result<(), Refusal> {
    let mut weights = vec![0.0; rows.len() * layout.cols];
    read(rows.clone(), &mut weights)?;
    // Without an early exit, so that the common case is vectorized.
    if !weights.iter().fold(true, |ok, w| ok & w.is_finite()) {
        let at = weights.iter().position(|w| !w.is_finite()).unwrap_or(0);
        let (row, col) = (rows.start + at / layout.cols, at % layout.cols);
        let what = format!("weight of output {row}, input {col}");
        return Err(Refusal::new(Code::NonFiniteWeight, what, "a finite number", weights[at]));
    }
    pack::pack(isa, layout, &weights, bytes.as_chunks_mut().0);
    Ok(())
}
