//! From GGUF's blocks to planes: every number as it is stored, in another order.

#[cfg(test)]
mod tests;

use tilewright_model::{Block, Refusal, Tensor};

use crate::format::Format;
use crate::layout::Slot;

/// What is written to the planes of a slot, each from its beginning on.
pub(super) struct Planes<'a>([&'a mut [u8]; 4]);

impl<'a> Planes<'a> {
    pub(super) fn of(bytes: &'a mut [u8], slot: Slot) -> Self {
        let mut rest = &mut bytes[slot.offset as usize..slot.end() as usize];
        Self(slot.planes.map(|bytes| {
            let (plane, after) = std::mem::take(&mut rest).split_at_mut(bytes as usize);
            rest = after;
            plane
        }))
    }

    /// Puts what follows in a plane.
    pub(super) fn put(&mut self, plane: usize, bytes: &[u8]) {
        let (to, rest) = std::mem::take(&mut self.0[plane]).split_at_mut(bytes.len());
        to.copy_from_slice(bytes);
        self.0[plane] = rest;
    }

    /// Puts a tensor of blocks that `format` keeps.
    ///
    /// # Errors
    /// `non_finite_weight`.
    pub(super) fn put_blocks(&mut self, format: Format, tensor: &Tensor<'_>) -> Result<(), Refusal> {
        let count = tensor.stored.block_len();
        for row in 0..tensor.rows() {
            for stored in tensor.row_bytes(row).chunks(tensor.stored.block_bytes()) {
                let Some(block) = Block::read(tensor.stored, stored) else { continue };
                let groups = count / block.group;
                let mut numbers = block.scales[..groups].iter().chain(&block.offsets[..groups]);
                if !numbers.all(|number| number.is_finite()) {
                    tensor.check_finite(row..row + 1)?;
                }
                self.put_block(format, &block, count);
            }
        }
        Ok(())
    }

    /// One block of a row.
    fn put_block(&mut self, format: Format, block: &Block, count: usize) {
        let integers = &block.integers[..count];
        let groups = count / block.group;
        let halves = block.halves.map(u16::to_le_bytes);
        match format {
            Format::Int8 { .. } => {
                self.put(0, &integers.iter().map(|code| code.cast_unsigned()).collect::<Vec<_>>());
                self.put(1, &halves[0]);
            }
            Format::Int4 { .. } => {
                self.put(0, &nibbles(integers, 8));
                self.put(1, &halves[0]);
            }
            Format::Q4K => {
                self.put(0, &nibbles(integers, 0));
                let scales = block.codes.iter().zip(&block.least_codes).take(groups);
                let pairs = scales.flat_map(|(scale, least)| [scale.cast_unsigned(), *least]);
                self.put(1, &pairs.collect::<Vec<_>>());
                self.put(2, halves.as_flattened());
            }
            Format::Q6K => {
                self.put(0, &nibbles(integers, 32));
                let top = |codes: &[i8]| {
                    codes.iter().rev().fold(0, |byte, code| byte << 2 | (code + 32).cast_unsigned() >> 4)
                };
                self.put(1, &integers.chunks(4).map(top).collect::<Vec<u8>>());
                let scales = block.codes[..groups].iter().map(|scale| scale.cast_unsigned());
                self.put(2, &scales.collect::<Vec<_>>());
                self.put(3, &halves[0]);
            }
            Format::Float(_) | Format::Pairs => {}
        }
    }
}

/// The lower four bits of codes that are stored `excess` too large, two to a byte.
fn nibbles(codes: &[i8], excess: i8) -> Vec<u8> {
    let low = |code: i8| (code + excess).cast_unsigned() & 15;
    codes.chunks(2).map(|pair| pair.iter().rev().fold(0, |byte, code| byte << 4 | low(*code))).collect()
}
