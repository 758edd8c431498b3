//! RoPE's table on the GPU: `[positions][head_dim / 2]` pairs of cosine and sine, computed in f64 and rounded once.

use tilewright_model::{Config, Refusal};

use crate::device::{Buffer, Device};

/// Positions by which the table grows at least.
const STEP: usize = 4096;

/// Grows with the longest sequence.
pub(crate) struct RopeTable {
    buffer: Buffer,
    positions: usize,
}

impl RopeTable {
    pub(crate) fn new(device: &Device) -> Result<Self, Refusal> {
        Ok(Self { buffer: device.zeros(0)?, positions: 0 })
    }

    /// Of the first byte.
    pub(crate) fn address(&self) -> u64 {
        self.buffer.address
    }

    /// Extends the table to at least `positions`.
    pub(crate) fn reach(
        &mut self,
        device: &Device,
        config: &Config,
        positions: usize,
    ) -> Result<(), Refusal> {
        if positions <= self.positions {
            return Ok(());
        }
        let positions = positions.next_multiple_of(STEP);
        let (frequencies, factor) = (config.rope.inv_freq(config.head_dim), config.rope.attention_factor());
        let mut table = Vec::with_capacity(positions * frequencies.len() * 2);
        for position in 0..positions {
            for frequency in &frequencies {
                let (sin, cos) = (position as f64 * frequency).sin_cos();
                table.extend([(cos * factor) as f32, (sin * factor) as f32]);
            }
        }
        // Kernels that read the old table are done before it goes.
        device.wait()?;
        self.buffer = device.upload(bytemuck::cast_slice(&table))?;
        device.wait()?;
        self.positions = positions;
        Ok(())
    }
}
