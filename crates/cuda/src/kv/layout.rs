//! How keys and values lie in a page.
//!
//! `[layers][kv_heads][K, V][8 blocks][32 positions x head_dim]`. Inside a block either position by position, or, where the
//! matrix instructions read it, as the fragments that its matrix instructions take: keys with positions as rows, values
//! with dims as rows. In 8 bits it is position by position, and behind all of that are f32 scales,
//! `[layers][kv_heads][K, V][256 positions]`.

use std::ops::Range;

use half::bf16;
use tilewright_backend::KvFormat;
use tilewright_model::{Config, Refusal};

/// Positions of a block.
pub(crate) const BLOCK: usize = 32;
/// Positions of a page.
pub(crate) const PAGE: usize = 256;

/// Pages that `positions` take.
pub(crate) fn pages(positions: usize) -> usize {
    positions.div_ceil(PAGE)
}

/// The layout of a model's pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    layers: usize,
    heads: usize,
    dim: usize,
    format: KvFormat,
    granularity: u64,
}

impl Layout {
    /// Pages are multiples of `granularity`, where memory is taken by such.
    pub(crate) fn new(config: &Config, format: KvFormat, granularity: Option<u64>) -> Self {
        let &Config { layers, kv_heads: heads, head_dim: dim, .. } = config;
        // What copies want of addresses, and more.
        Self { layers, heads, dim, format, granularity: granularity.unwrap_or(512) }
    }

    /// Bytes of a block.
    pub(crate) fn block_bytes(&self) -> usize {
        BLOCK * self.dim * element(self.format)
    }

    /// Bytes of a page's keys and values without scales, which lie behind them.
    pub(crate) fn codes(&self) -> usize {
        2 * self.layers * self.heads * (PAGE / BLOCK) * self.block_bytes()
    }

    /// Bytes from a page to the next.
    pub(crate) fn page_bytes(&self) -> usize {
        let bytes = (2 * self.layers * self.heads * PAGE * self.format.head_bytes(self.dim)) as u64;
        usize::try_from(bytes.next_multiple_of(self.granularity)).unwrap_or(usize::MAX)
    }

    /// Keys and values of some positions of a layer, each `[kv_heads, positions, head_dim]`, of a cache whose bytes from a place
    /// on `read` fetches. Only their blocks are read.
    pub(crate) fn copy(
        &self,
        fragments: bool,
        layer: usize,
        positions: Range<usize>,
        read: impl Fn(usize, &mut [u8]) -> Result<(), Refusal>,
    ) -> Result<(Vec<f32>, Vec<f32>), Refusal> {
        let mut both = (Vec::new(), Vec::new());
        for head in 0..self.heads {
            for (values, out) in [(false, &mut both.0), (true, &mut both.1)] {
                let half = 2 * (layer * self.heads + head) + usize::from(values);
                for page in positions.start / PAGE..pages(positions.end) {
                    let first = page * PAGE;
                    let of_page = positions.start.max(first) - first..positions.end.min(first + PAGE) - first;
                    let at = |byte: usize, bytes: &mut [u8]| read(page * self.page_bytes() + byte, bytes);
                    self.part(half, (fragments, values), of_page, at, out)?;
                }
            }
        }
        Ok(both)
    }

    /// Some positions of a head's keys or values in one page.
    fn part(
        &self,
        half: usize,
        (fragments, values): (bool, bool),
        positions: Range<usize>,
        read: impl Fn(usize, &mut [u8]) -> Result<(), Refusal>,
        out: &mut Vec<f32>,
    ) -> Result<(), Refusal> {
        let (first, bytes) = (positions.start / BLOCK, self.block_bytes());
        let mut raw = vec![0u8; (positions.end.div_ceil(BLOCK) - first) * bytes];
        read((half * (PAGE / BLOCK) + first) * bytes, &mut raw)?;
        let mut scales = vec![1f32; positions.len()];
        if self.format == KvFormat::Int8 {
            let at = self.codes() + (half * PAGE + positions.start) * 4;
            read(at, bytemuck::cast_slice_mut(&mut scales))?;
        }
        let value = |at: usize| match self.format {
            KvFormat::Int8 => f32::from(raw[at].cast_signed()),
            KvFormat::Bf16 => bf16::from_le_bytes([raw[2 * at], raw[2 * at + 1]]).to_f32(),
            _ => f32::from_le_bytes([raw[4 * at], raw[4 * at + 1], raw[4 * at + 2], raw[4 * at + 3]]),
        };
        for (position, scale) in positions.zip(scales) {
            let base = (position / BLOCK - first) * BLOCK * self.dim;
            let place = |d| match fragments {
                true => fragment(position % BLOCK, d, self.dim, values),
                false => position % BLOCK * self.dim + d,
            };
            out.extend((0..self.dim).map(|d| value(base + place(d)) * scale));
        }
        Ok(())
    }
}

/// Place in a block of fragments of element `d` of the position `at`; mirrors `place` of `native/plain.cu`.
fn fragment(at: usize, d: usize, dim: usize, value: bool) -> usize {
    let (tile, row) = (at / 16, at % 16);
    if value {
        let lane = (d % 8) * 4 + row % 8 / 2;
        d / 16 * 512 + tile * 256 + lane * 8 + row / 8 * 4 + d % 16 / 8 * 2 + row % 2
    } else {
        let lane = (row % 8) * 4 + d / 4 % 4;
        tile * 16 * dim + d / 16 * 256 + lane * 8 + d / 2 % 2 * 4 + row / 8 * 2 + d % 2
    }
}

/// Bytes of an element.
const fn element(format: KvFormat) -> usize {
    match format {
        KvFormat::F32 => 4,
        KvFormat::F16 | KvFormat::Bf16 => 2,
        KvFormat::Int8 => 1,
    }
}

#[cfg(test)]
mod tests;
