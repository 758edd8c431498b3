//! Keys and values of a sequence, and how they lie in memory.
//!
//! `[layers][kv_heads][K, V][blocks][32 positions x head_dim]`. Inside a block either position by position, or, where the
//! matrix instructions read it, as the fragments that its matrix instructions take: keys with positions as rows, values
//! with dims as rows. In 8 bits it is position by position, and behind all of that are f32 scales,
//! `[layers][kv_heads][K, V][positions]`.

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
    /// First byte of the scales.
    scales: usize,
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
        let heads = config.layers * config.kv_heads * 2 * blocks * BLOCK;
        let scales = heads * config.head_dim * element(format);
        // Zero, since what lies past the last position is multiplied by zero: it must be a number.
        let buffer = device.zeros(heads * format.head_bytes(config.head_dim))?;
        Ok(Self { buffer, blocks, format, fragments, scales })
    }

    /// Positions it has room for.
    pub(crate) fn capacity(&self) -> usize {
        self.blocks * BLOCK
    }

    /// Of the first byte.
    pub(crate) fn address(&self) -> u64 {
        self.buffer.address
    }

    /// Of the first byte of the scales, where it has such.
    pub(crate) fn scales(&self) -> u64 {
        self.buffer.address + self.scales as u64
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
        let element = element(self.format);
        let first = positions.start / BLOCK;
        let blocks = positions.end.div_ceil(BLOCK).saturating_sub(first);
        let mut raw = vec![0u8; blocks * block * element];
        let mut scales = vec![1f32; blocks * BLOCK];
        let mut read = |head: usize, values: bool| -> Result<Vec<f32>, Refusal> {
            let half = (2 * (layer * heads + head) + usize::from(values)) * self.blocks + first;
            device.read(&self.buffer, half * block * element, &mut raw)?;
            if self.format == KvFormat::Int8 {
                let at = self.scales + half * BLOCK * 4;
                device.read(&self.buffer, at, bytemuck::cast_slice_mut(&mut scales))?;
            }
            let value = |at: usize| match self.format {
                KvFormat::Int8 => f32::from(raw[at].cast_signed()),
                KvFormat::Bf16 => bf16::from_le_bytes([raw[2 * at], raw[2 * at + 1]]).to_f32(),
                _ => f32::from_le_bytes([raw[4 * at], raw[4 * at + 1], raw[4 * at + 2], raw[4 * at + 3]]),
            };
            let mut out = Vec::with_capacity(positions.len() * dim);
            for position in positions.clone() {
                let base = (position / BLOCK - first) * block;
                let scale = scales[position - first * BLOCK];
                let place = |d| base + self.place(position % BLOCK, d, dim, values);
                out.extend((0..dim).map(|d| value(place(d)) * scale));
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

/// Bytes of an element.
const fn element(format: KvFormat) -> usize {
    match format {
        KvFormat::F32 => 4,
        KvFormat::F16 | KvFormat::Bf16 => 2,
        KvFormat::Int8 => 1,
    }
}
