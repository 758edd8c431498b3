//! Rows of activations in the form a format is multiplied with.

use std::ops::Range;

use half::f16;
use tilewright_backend::Numerics;

use super::blocks;
use super::layout::{Format, Layout, tile_rows};
use super::matrix::Matrix;
use super::sweep::most_rows;
use crate::llama::quantise::{self, Quantise};
use crate::pool::Pool;
use crate::simd::{Isa, Kernel, LANES, Simd};

/// Prepared activations. One value is filled again and again, and keeps its memory.
///
/// Rows lie in tiles of as many rows as the instruction set multiplies at a time; the last tile may be smaller. A tile
/// is a sequence of words of its rows in turn: for floats the inputs; for integers, group by group, the rows' scales,
/// the sums of their quantised inputs, and these, four a word. With the numerics of llama.cpp every row is a tile, and a group of
/// integers has the words of `llama::quantise`.
#[derive(Default)]
pub struct Inputs {
    numerics: Numerics,
    words: Vec<u32>,
    made_for: Option<(Isa, Format)>,
    cols: usize,
    rows: usize,
    tile_rows: usize,
}

impl Inputs {
    /// None yet, for products with these numerics; [`default`](Self::default) has the device's own.
    pub fn new(numerics: Numerics) -> Self {
        Self { numerics, ..Self::default() }
    }

    pub(super) fn numerics(&self) -> Numerics {
        self.numerics
    }

    /// Words of one row for a matrix of `layout`.
    fn row_words(&self, layout: Layout) -> usize {
        match layout.format {
            Format::Blocks(_) if !self.numerics.is_native() => {
                layout.cols / quantise::GROUP * quantise::WORDS
            }
            _ => layout.row_words(),
        }
    }

    /// Replaces the rows by `rows` new ones for products with `matrix` (and with others of its format and inputs).
    /// `row` writes one of them, `[matrix.cols()]`; it is called once for each, from all threads.
    ///
    /// An input that is infinite or not a number makes all results of its row so that they are not a number.
    pub fn fill(
        &mut self,
        pool: &Pool,
        isa: Isa,
        matrix: &Matrix,
        rows: usize,
        row: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        let Some(first) = matrix.parts().first() else { return };
        let layout = first.layout;
        let formats = matrix.parts().iter().map(|part| part.layout.format);
        let most = match self.numerics.is_native() {
            true => formats.map(|format| isa.run(TileRows(format))).min().unwrap_or(1),
            false => 1,
        };
        let row_words = self.row_words(layout);
        self.made_for = Some((isa, layout.format));
        (self.cols, self.rows, self.tile_rows) = (layout.cols, rows, tile_rows(rows, most));
        let full = rows / self.tile_rows.max(1);
        let last = rows - full * self.tile_rows;
        let total = full * self.tile_rows + if last > 0 { tile_rows(last, most) } else { 0 };
        self.words.clear();
        self.words.resize(total * row_words, 0);
        let (tile_rows, numerics) = (self.tile_rows, self.numerics);
        pool.for_each_chunk(&mut self.words, (tile_rows * row_words).max(1), |tile, words| {
            let mut values = vec![0.0; layout.cols.next_multiple_of(layout.group().max(LANES))];
            let stride = words.len() / row_words;
            for r in 0..tile_rows.min(rows - tile * tile_rows) {
                row(tile * tile_rows + r, &mut values[..layout.cols]);
                match layout.format {
                    Format::Blocks(_) if !numerics.is_native() => {
                        isa.run(Quantise { row: &values[..layout.cols], words });
                    }
                    _ => isa.run(Fill { layout, values: &values, words, first: r, stride }),
                }
            }
        });
    }

    /// Rows held.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Rows of a full tile.
    pub(super) fn tile_rows(&self) -> usize {
        self.tile_rows.max(1)
    }

    /// Whether they can be multiplied with `matrix` on `isa`.
    pub(super) fn fit(&self, isa: Isa, matrix: &Matrix) -> bool {
        let made_for =
            |format: Format| self.made_for.is_some_and(|(by, of)| by == isa && of.shares_inputs(format));
        matrix.parts().iter().all(|part| {
            made_for(part.layout.format) && self.tile_rows <= isa.run(TileRows(part.layout.format))
        }) && self.cols == matrix.cols()
    }

    /// The tiles of `rows`, which begins with a tile and ends with one: the rows of each, and its words.
    #[inline(always)]
    pub(super) fn tiles(&self, rows: Range<usize>) -> impl Iterator<Item = (Range<usize>, &[u32])> {
        // `words` may be longer than its rows need by the padding of the last tile.
        let row_words = self.words.len() / self.padded_rows().max(1);
        let words = &self.words[rows.start * row_words..];
        let tiles = rows.clone().step_by(self.tile_rows());
        tiles
            .zip(words.chunks((self.tile_rows() * row_words).max(1)))
            .map(move |(from, words)| (from..rows.end.min(from + self.tile_rows()), words))
    }

    fn padded_rows(&self) -> usize {
        let full = self.rows / self.tile_rows() * self.tile_rows();
        full + if self.rows > full { tile_rows(self.rows - full, self.tile_rows()) } else { 0 }
    }
}

/// Asks an instruction set for the rows of its tiles.
struct TileRows(Format);

impl Kernel for TileRows {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> usize {
        most_rows::<S>(self.0)
    }
}

/// Writes one row into its tile: word `i` of the row goes to `words[i * stride + first]`.
struct Fill<'a> {
    layout: Layout,
    /// The row, padded with zeros to whole groups and vectors.
    values: &'a [f32],
    words: &'a mut [u32],
    first: usize,
    stride: usize,
}

impl Kernel for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let mut slots = self.words[self.first..].iter_mut().step_by(self.stride);
        match self.layout.format {
            Format::F32 | Format::Bf16 => {
                slots.zip(self.values).for_each(|(slot, value)| *slot = value.to_bits());
            }
            Format::Blocks(_) => {
                for values in self.values.as_chunks::<{ blocks::GROUP }>().0 {
                    let group = quantize_group(simd, values);
                    slots.by_ref().zip(group).for_each(|(slot, word)| *slot = word);
                }
            }
            Format::Int8 | Format::Int4 => {
                for (words, values) in self.layout.group_words().zip(self.values.chunks(self.layout.group()))
                {
                    let mut group = slots.by_ref().take(2 + words);
                    quantize(simd, values, |word| {
                        if let Some(slot) = group.next() {
                            *slot = word;
                        }
                    });
                    group.for_each(drop);
                }
            }
        }
    }
}

/// Symmetric quantisation of one group: its scale, the sum of the integers, then these, four a word.
///
/// The scale takes the greatest magnitude to 127; integers are the nearest, ties to even. A value that is not finite
/// makes the scale not a number.
#[inline(always)]
fn quantize<S: Simd>(simd: S, values: &[f32], mut put: impl FnMut(u32)) {
    let vectors = values.as_chunks::<LANES>().0;
    let (mut greatest, mut poison) = (simd.splat(0.0), simd.splat(0.0));
    for vector in vectors {
        let value = simd.load(vector);
        greatest = simd.max(simd.abs(value), greatest);
        poison = simd.fma(value, simd.splat(0.0), poison);
    }
    let greatest = simd.reduce_max(greatest);
    let scale = greatest / 127.0 + simd.reduce_add(poison);
    // The greatest magnitude may be too small to be divided by.
    let inverse = 127.0 / greatest;
    let inverse = simd.splat(if inverse.is_finite() { inverse } else { 0.0 });
    let mut integers = [[0; 4]; 8];
    let mut sum = simd.splat_i32(0);
    for (words, vector) in integers.iter_mut().zip(vectors) {
        let rounded = simd.round(simd.mul(simd.load(vector), inverse));
        sum = simd.add_i32(sum, rounded);
        *words = simd.narrow(rounded);
    }
    let mut lanes = [0; LANES];
    simd.store_i32(sum, &mut lanes);
    put(scale.to_bits());
    put(lanes.iter().fold(0i32, |sum, lane| sum.wrapping_add(*lane)) as u32);
    integers[..vectors.len()].as_flattened().iter().for_each(|word| put(*word));
}

/// The words of one group for products with blocks, as [`blocks::HEADER`] says; quantised as [`quantize`] does.
#[inline(always)]
fn quantize_group<S: Simd>(simd: S, values: &[f32; blocks::GROUP]) -> [u32; blocks::WORDS] {
    let mut quantized = [0; 2 + blocks::GROUP / 4];
    let mut at = 0;
    quantize(simd, values, |word| {
        quantized[at] = word;
        at += 1;
    });
    let [exact, _, integers @ ..] = quantized;
    let sum = |words: &[u32]| {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        bytes.map(|byte| i32::from(byte.cast_signed())).sum::<i32>()
    };
    let (first, second) = integers.split_at(integers.len() / 2);
    let (first, second) = (sum(first), sum(second));
    let exact = f32::from_bits(exact);
    let scale = to_half(exact);
    let negated = |scale: f32, sum: i32| -(scale * sum as f32);
    let sums = [to_half(negated(exact, first + second)), negated(scale, first), negated(scale, second)];
    let mut words = [0; blocks::WORDS];
    let header = [scale].into_iter().chain(sums).map(f32::to_bits).chain([(first + second) as u32]);
    words.iter_mut().zip(header.chain(integers)).for_each(|(to, word)| *to = word);
    words
}

/// The nearest f16, ties to even; what is no normal number there stays as it is.
fn to_half(value: f32) -> f32 {
    const LEAST: f32 = f16::MIN_POSITIVE.to_f32_const();
    const MOST: f32 = f16::MAX.to_f32_const();
    let bits = value.to_bits();
    let rounded = f32::from_bits(bits.wrapping_add(0x0fff + (bits >> 13 & 1)) & !0x1fff);
    if (LEAST..=MOST).contains(&rounded.abs()) { rounded } else { value }
}

#[cfg(test)]
mod tests;
