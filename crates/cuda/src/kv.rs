//! Keys and values of a sequence, and how they lie in memory.
//!
//! `[layers][kv_heads][K, V][blocks][32 positions x head_dim]`. Inside a block either position by position, or, where the
//! matrix instructions read it, as the fragments that its matrix instructions take: keys with positions as rows, values
//! with dims as rows.

use std::ops::Range;

use half::bf16;
use tilewright_backend::KvFormat;
use tilewright_model::{Config, Refusal};

use crate::device::{Buffer, Device};

/// Positions of a block.
pub(crate) const BLOCK: usize = 32;

/// The cache of one sequence.
pub(crate) struct KvCache {
    buffer: Buffer,
    /// Blocks a head.
    pub(crate) blocks: usize,
    format: KvFormat,
    fragments: bool,
}

impl KvCache {
    /// Room for `positions`, all zero.
    pub(crate) fn new(
        device: &Device,
        config: &Config,
        format: KvFormat,
        fragments: bool,
        positions: usize,
    ) -> Result<Self, Refusal> {
        let blocks = positions.div_ceil(BLOCK).max(1);
        let element = if format == KvFormat::Bf16 { 2 } else { 4 };
        let bytes = config.layers * config.kv_width() * 2 * blocks * BLOCK * element;
        // Zero, since what lies past the last position is multiplied by zero: it must be a number.
        Ok(Self { buffer: device.zeros(bytes)?, blocks, format, fragments })
    }

    /// Positions it has room for.
    pub(crate) fn capacity(&self) -> usize {
        self.blocks * BLOCK
    }

    /// Of the first byte.
    pub(crate) fn address(&self) -> u64 {
        self.buffer.address
    }

    /// Keys and values of some positions of a layer, each `[kv_heads, positions, head_dim]`. Only their blocks are read.
    pub(crate) fn copy(
        &self,
        device: &Device,
        config: &Config,
        layer: usize,
        positions: Range<usize>,
    ) -> Result<(Vec<f32>, Vec<f32>), Refusal> {
        let (dim, heads) = (config.head_dim, config.kv_heads);
        let block = BLOCK * dim;
        let element = if self.format == KvFormat::Bf16 { 2 } else { 4 };
        let first = positions.start / BLOCK;
        let mut raw = vec![0u8; (positions.end.div_ceil(BLOCK).saturating_sub(first)) * block * element];
        let mut read = |head: usize, values: bool| -> Result<Vec<f32>, Refusal> {
            let half = (2 * (layer * heads + head) + usize::from(values)) * self.blocks + first;
            device.read(&self.buffer, half * block * element, &mut raw)?;
            let value = |at: usize| match self.format {
                KvFormat::Bf16 => bf16::from_le_bytes([raw[2 * at], raw[2 * at + 1]]).to_f32(),
                _ => f32::from_le_bytes([raw[4 * at], raw[4 * at + 1], raw[4 * at + 2], raw[4 * at + 3]]),
            };
            let mut out = Vec::with_capacity(positions.len() * dim);
            for position in positions.clone() {
                let base = (position / BLOCK - first) * block;
                out.extend((0..dim).map(|d| value(base + self.place(position % BLOCK, d, dim, values))));
            }
            Ok(out)
        };
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for head in 0..heads {
            keys.extend(read(head, false)?);
            values.extend(read(head, true)?);
        }
        Ok((keys, values))
    }

    /// Place in a block of element `d` of the position `at`; mirrors `place` of `native/plain.cu`.
    fn place(&self, at: usize, d: usize, dim: usize, value: bool) -> usize {
        if !self.fragments {
            return at * dim + d;
        }
        let (tile, row) = (at / 16, at % 16);
        if value {
            let lane = (d % 8) * 4 + row % 8 / 2;
            d / 16 * 512 + tile * 256 + lane * 8 + row / 8 * 4 + d % 16 / 8 * 2 + row % 2
        } else {
            let lane = (row % 8) * 4 + d / 4 % 4;
            tile * 16 * dim + d / 16 * 256 + lane * 8 + d / 2 % 2 * 4 + row / 8 * 2 + d % 2
        }
    }
}
