//! Packed matrices.

use std::ops::Range;
use std::sync::Mutex;

use half::bf16;
use tilewright_model::{Code, Refusal, Tensor, WeightFormat};

use super::blocks::{self, of_type, pack_row, row_f32 as blocks_row};
use super::layout::{Format, Layout, Line, PANEL};
use super::pack;
use crate::memory::Pages;
use crate::pool::Pool;
use crate::simd::Isa;

/// Writes rows of a range, one after the other, as f32.
pub type ReadRows<'a> = dyn Fn(Range<usize>, &mut [f32]) -> Result<(), Refusal> + Sync + 'a;

/// A matrix of `rows` outputs and `cols` inputs, packed for [`matmul`](super::matmul).
pub struct Matrix {
    rows: usize,
    cols: usize,
    /// Its outputs in order: one part, or with GGUF's blocks one for each type.
    parts: Vec<Part>,
}

/// Consecutive outputs of one format.
pub(super) struct Part {
    pub(super) layout: Layout,
    /// The first of them.
    pub(super) first: usize,
    bytes: Pages<u8>,
}

impl Part {
    /// The lines of one panel.
    pub(super) fn panel(&self, index: usize) -> &[Line] {
        let lines = self.layout.panel_lines();
        &self.bytes.as_chunks().0[index * lines..(index + 1) * lines]
    }

    /// Makes it of panels that `pack` writes into zeroed bytes, from all threads.
    fn pack(
        pool: &Pool,
        layout: Layout,
        first: usize,
        pack: impl Fn(Range<usize>, &mut [u8]) -> Result<(), Refusal> + Sync,
    ) -> Result<Self, Refusal> {
        let mut bytes = Pages::zeroed(layout.bytes())?;
        let failed: Mutex<Option<(usize, Refusal)>> = Mutex::new(None);
        let size = layout.panel_lines() * size_of::<Line>();
        let mut panels: Vec<(usize, &mut [u8])> = bytes.chunks_mut(size).enumerate().collect();
        // Threads work far from one another: a large page that two of them touch first is cleared by both.
        let stripe = panels.len().div_ceil(pool.threads()).max(1);
        panels.sort_by_key(|(panel, _)| panel % stripe);
        pool.for_each(&mut panels, |(panel, bytes)| {
            let from = *panel * PANEL;
            if let Err(refusal) = pack(from..layout.rows.min(from + PANEL), bytes) {
                let mut failed = failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if failed.as_ref().is_none_or(|(before, _)| *panel < *before) {
                    *failed = Some((*panel, refusal));
                }
            }
        });
        match failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            Some((_, refusal)) => Err(refusal),
            None => Ok(Self { layout, first, bytes }),
        }
    }
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
        let layout = Layout { format: format.into(), rows, cols };
        let part = Part::pack(pool, layout, 0, |rows, bytes| pack_panel(isa, layout, rows, bytes, read))?;
        Ok(Self { rows, cols, parts: vec![part] })
    }

    /// Packs the rows of all `tensors`, one after the other, as the blocks that they are stored as.
    ///
    /// # Errors
    /// `out_of_memory`, `non_finite_weight`.
    ///
    /// # Panics
    /// When a tensor is not of blocks, or rows differ in length.
    pub fn pack_blocks(pool: &Pool, tensors: &[&Tensor<'_>]) -> Result<Self, Refusal> {
        let cols = tensors.first().map_or(0, |tensor| tensor.row_len());
        assert!(tensors.iter().all(|t| t.stored.is_block() && t.row_len() == cols), "rows of blocks");
        let (mut parts, mut first) = (Vec::new(), 0);
        for same in tensors.chunk_by(|a, b| a.stored == b.stored) {
            let rows: usize = same.iter().map(|tensor| tensor.rows()).sum();
            let layout = Layout { format: Format::Blocks(same[0].stored), rows, cols };
            parts.push(Part::pack(pool, layout, first, |rows, bytes| pack_rows(same, rows, bytes))?);
            first += rows;
        }
        Ok(Self { rows: first, cols, parts })
    }

    /// A matrix packed before, from its [`bytes`](Self::bytes); `None` when they are not as many as it has.
    pub(crate) fn from_pages(
        format: WeightFormat,
        (rows, cols): (usize, usize),
        bytes: Pages<u8>,
    ) -> Option<Self> {
        let layout = Layout { format: format.into(), rows, cols };
        let parts = vec![Part { layout, first: 0, bytes }];
        (cols > 0 && parts[0].bytes.len() == layout.bytes()).then_some(Self { rows, cols, parts })
    }

    /// Outputs.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Inputs.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The packed form of the first part, which is all of it but for blocks of several types; the same on every machine.
    pub fn bytes(&self) -> &[u8] {
        self.parts.first().map_or(&[], |part| &part.bytes)
    }

    /// Bytes of all parts, which are read for one product.
    pub fn size(&self) -> usize {
        self.parts.iter().map(|part| part.bytes.len()).sum()
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The part that output `row` is in.
    pub(super) fn part_of(&self, row: usize) -> Option<&Part> {
        self.parts.iter().rev().find(|part| part.first <= row)
    }

    /// Row `row` as it is multiplied, that is after rounding to the format.
    ///
    /// # Panics
    /// When there is no such row, or `out` is not as long as one.
    pub fn row_f32(&self, row: usize, out: &mut [f32]) {
        assert!(row < self.rows && out.len() == self.cols, "a row of the matrix");
        let Some(part) = self.part_of(row) else { return };
        let row = row - part.first;
        part.row_f32(part.panel(row / PANEL), row % PANEL, out);
    }
}

impl Part {
    /// Row `row` of a panel.
    fn row_f32(&self, lines: &[Line], row: usize, out: &mut [f32]) {
        match self.layout.format {
            Format::Blocks(stored) => of_type!(stored, blocks_row(lines, row, out)),
            Format::F32 => {
                for (w, [low, high]) in out.iter_mut().zip(lines.as_chunks().0) {
                    let line: &Line = if row < 16 { low } else { high };
                    *w = f32::from_bits(u32::from_le_bytes(line.as_chunks().0[row % 16]));
                }
            }
            Format::Bf16 => {
                for (w, line) in out.iter_mut().zip(lines) {
                    *w = half_of(line, row);
                }
            }
            Format::Int8 => self.integers(lines, row, out, |line, row, k| {
                i32::from(line[k / 4 * 2 + row / 16][row % 16 * 4 + k % 4]) - 128
            }),
            Format::Int4 => self.integers(lines, row, out, |line, row, k| {
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
        let per_word = if self.layout.format == Format::Int8 { 2 } else { 1 };
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

/// Packs the blocks of `rows` of stacked `tensors` into a panel.
fn pack_rows(tensors: &[&Tensor<'_>], rows: Range<usize>, bytes: &mut [u8]) -> Result<(), Refusal> {
    let lines = bytes.as_chunks_mut().0;
    for (at, row) in rows.enumerate() {
        let mut within = row;
        let tensor = tensors.iter().find(|tensor| {
            let here = within < tensor.rows();
            within -= if here { 0 } else { tensor.rows() };
            here
        });
        let Some(tensor) = tensor else { continue };
        let mut finite = true;
        of_type!(tensor.stored, pack_row(tensor.row_bytes(within), at, lines, &mut finite));
        if !finite {
            tensor.check_finite(within..within + 1)?;
        }
    }
    Ok(())
}
