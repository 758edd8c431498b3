//! Where everything is in a packed matrix and in a tile of activations.

use tilewright_model::{StoredType, WeightFormat};

use super::blocks;
use crate::simd::LANES;

/// Sixty-four bytes: a cache line, and one vector.
pub(super) type Line = [u8; 64];

/// Outputs of a panel: two vectors.
pub(super) const PANEL: usize = 2 * LANES;

/// Inputs of one group of `int8` weights: 8.125 bits a weight. Smaller groups take more bytes and gain nothing
/// (`docs/performance/cpu.md`).
pub(super) const GROUP8: usize = 128;

/// Inputs of one group of `int4` weights: 4.25 bits a weight. Groups of 32 take more bytes and gain nothing.
pub(super) const GROUP4: usize = 64;

/// The numbers of rows a tile of activations may have. A tile is padded to the next of them.
const TILE_ROWS: [usize; 7] = [1, 2, 3, 4, 6, 8, 12];

/// How a matrix is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    F32,
    Bf16,
    Int8,
    Int4,
    /// A GGUF type of blocks.
    Blocks(StoredType),
}

impl Format {
    /// Whether activations made for one are those of the other: all types of blocks share theirs.
    pub(super) fn shares_inputs(self, other: Self) -> bool {
        self == other || matches!((self, other), (Self::Blocks(_), Self::Blocks(_)))
    }
}

impl From<WeightFormat> for Format {
    /// Floats are held as f32 where this device has no narrower form of them.
    fn from(format: WeightFormat) -> Self {
        match format {
            WeightFormat::F32 | WeightFormat::F16 | WeightFormat::Gguf => Self::F32,
            WeightFormat::Bf16 => Self::Bf16,
            WeightFormat::Int8 => Self::Int8,
            WeightFormat::Int4 => Self::Int4,
        }
    }
}

/// The shape and format of a matrix `[rows, cols]`, outputs by inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) format: Format,
    pub(super) rows: usize,
    pub(super) cols: usize,
}

impl Layout {
    /// Panels; the last may be padded.
    pub(super) fn panels(self) -> usize {
        self.rows.div_ceil(PANEL)
    }

    /// Inputs of a group: all of them where there are no groups.
    pub(super) fn group(self) -> usize {
        match self.format {
            Format::F32 | Format::Bf16 => self.cols,
            Format::Int8 => GROUP8,
            Format::Int4 => GROUP4,
            Format::Blocks(_) => blocks::GROUP,
        }
    }

    /// Words of four quantised inputs in each group. The last group may be shorter than the others; a word that is
    /// not full is padded with zeros, and so is a pair of words for `int4`.
    pub(super) fn group_words(self) -> impl Iterator<Item = usize> {
        let together = if self.format == Format::Int4 { 8 } else { 4 };
        (0..self.cols).step_by(self.group()).map(move |from| {
            let inputs = self.group().min(self.cols - from);
            inputs.next_multiple_of(together) / 4
        })
    }

    /// Lines of a panel.
    pub(super) fn panel_lines(self) -> usize {
        match self.format {
            Format::F32 => 2 * self.cols,
            Format::Bf16 => self.cols,
            Format::Int8 => self.group_words().map(|words| 1 + 2 * words).sum(),
            Format::Int4 => self.group_words().map(|words| 1 + words).sum(),
            Format::Blocks(stored) => blocks::panel_lines(stored, self.cols),
        }
    }

    /// Its panels cut along the inputs into matrices of their own, of whole groups: what, widened, stays in the
    /// first-level cache while many tiles go over it.
    pub(super) fn parts(self) -> impl Iterator<Item = Self> {
        let size = match self.format {
            Format::F32 | Format::Bf16 => 256,
            Format::Int8 => 256,
            Format::Int4 => 512,
            Format::Blocks(stored) => blocks::part_inputs(stored),
        };
        (0..self.cols).step_by(size).map(move |from| Self { cols: size.min(self.cols - from), ..self })
    }

    /// Bytes of the matrix.
    pub(super) fn bytes(self) -> usize {
        self.panels() * self.panel_lines() * size_of::<Line>()
    }

    /// Words that one row takes in a tile of activations: its inputs, or for each group a scale, the sum of the
    /// quantised inputs, and these, four a word.
    pub(super) fn row_words(self) -> usize {
        match self.format {
            Format::F32 | Format::Bf16 => self.cols,
            Format::Int8 | Format::Int4 => self.group_words().map(|words| 2 + words).sum(),
            Format::Blocks(_) => self.cols / blocks::GROUP * blocks::WORDS,
        }
    }
}

/// Lines of a widened part, at most: two for each input of a float part, which is the largest.
pub(super) const WIDE_LINES: usize = 512;

/// Bytes that a matrix of `rows` outputs and `cols` inputs takes in `format`, all of which are read for one product; of GGUF,
/// whose types are the file's, what f32 takes.
pub fn matrix_bytes(format: WeightFormat, rows: usize, cols: usize) -> usize {
    Layout { format: format.into(), rows, cols }.bytes()
}

/// Rows of the tile that holds `rows` rows, of which a full tile takes `most`.
pub(super) fn tile_rows(rows: usize, most: usize) -> usize {
    TILE_ROWS.into_iter().find(|&tile| tile >= rows).map_or(most, |tile| tile.min(most))
}
