//! GGUF's blocks of quantised elements, as integers with scales.
//!
//! Every type says the same with other bits: an element is `scale · integer − offset`, where scale and offset are of a
//! *group* of 16 or 32 consecutive elements. [`Block::read`] takes a block apart so; [`Block::fill`] puts numbers together,
//! with the roundings of f32 that the format's own tools make.
//!
//! | type | elements | a group's scale and offset | integers |
//! | --- | --- | --- | --- |
//! | Q8_0 | 32 | d | 8 bits, signed |
//! | Q4_0, Q5_0 | 32 | d | 4 or 5 bits less 8 or 16 |
//! | Q4_1, Q5_1 | 32 | d, −m | 4 or 5 bits |
//! | Q2_K | 256, groups of 16 | d · 4 bits, dmin · 4 bits | 2 bits |
//! | Q3_K | 256, groups of 16 | d · (6 bits less 32) | 3 bits less 4 |
//! | Q4_K, Q5_K | 256, groups of 32 | d · 6 bits, dmin · 6 bits | 4 or 5 bits |
//! | Q6_K | 256, groups of 16 | d · 8 bits, signed | 6 bits less 32 |
//! | IQ4_NL | 32 | d | one of sixteen values |
//! | IQ4_XS | 256, groups of 32 | d · (6 bits less 32) | one of sixteen values |

use crate::StoredType;

use super::convert::widen_f16;

/// Most elements of a block.
const MOST: usize = 256;

/// The sixteen values of IQ4_NL and IQ4_XS.
const VALUES: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// A block taken apart.
#[derive(Clone, Debug)]
pub struct Block {
    /// The integers, as many as the type's block has elements.
    pub integers: [i8; MOST],
    /// Scale of each group.
    pub scales: [f32; MOST / 16],
    /// What is taken off the elements of each group; 0 where the type has none.
    pub offsets: [f32; MOST / 16],
    /// Elements of a group: 16 or 32.
    pub group: usize,
    /// The block's f16 numbers as it stores them: what scales are multiples of, then what offsets are.
    pub halves: [u16; 2],
    /// Scales as multiples of the first of them.
    pub codes: [i8; MOST / 16],
    /// Offsets as multiples of the second, where a group has its own.
    pub least_codes: [u8; MOST / 16],
}

impl Block {
    /// Takes apart one block of `stored`, which is a block type. `None` when `bytes` is not one block.
    pub fn read(stored: StoredType, bytes: &[u8]) -> Option<Self> {
        let mut block = Self {
            integers: [0; MOST],
            scales: [0.0; 16],
            offsets: [0.0; 16],
            group: 32,
            halves: [0; 2],
            codes: [1; 16],
            least_codes: [0; 16],
        };
        if bytes.len() != stored.block_bytes() {
            return None;
        }
        match stored {
            StoredType::F64 | StoredType::F32 | StoredType::F16 | StoredType::Bf16 => return None,
            StoredType::Q8_0 => {
                let (head, integers) = bytes.split_at(2);
                block.halves[0] = bits(head);
                block.scales[0] = float(head);
                for (to, byte) in block.integers.iter_mut().zip(integers) {
                    *to = byte.cast_signed();
                }
            }
            StoredType::Q4_0 => block.small(bytes, 2, 0, 8),
            StoredType::Q4_1 => block.small(bytes, 4, 0, 0),
            StoredType::Q5_0 => block.small(bytes, 2, 4, 16),
            StoredType::Q5_1 => block.small(bytes, 4, 4, 0),
            StoredType::Iq4Nl => {
                block.small(bytes, 2, 0, 0);
                block.look_up(32);
            }
            StoredType::Q2K => block.q2_k(bytes),
            StoredType::Q3K => block.q3_k(bytes),
            StoredType::Q4K => block.q45_k(bytes, 0),
            StoredType::Q5K => block.q45_k(bytes, 32),
            StoredType::Q6K => block.q6_k(bytes),
            StoredType::Iq4Xs => block.iq4_xs(bytes),
        }
        Some(block)
    }

    /// Writes the elements, as many as `out` has.
    pub fn fill(&self, out: &mut [f32]) {
        let groups = out.chunks_mut(self.group).zip(self.integers.chunks(self.group));
        for ((out, integers), (scale, offset)) in groups.zip(self.scales.iter().zip(&self.offsets)) {
            for (to, integer) in out.iter_mut().zip(integers) {
                *to = scale * f32::from(*integer) - offset;
            }
        }
    }

    /// Blocks of 32: `head` bytes of scale and offset, `high` bytes of fifth bits, sixteen bytes of two integers each.
    fn small(&mut self, bytes: &[u8], head: usize, high: usize, excess: i8) {
        self.halves[0] = bits(bytes);
        self.scales[0] = float(bytes);
        if head == 4 {
            self.halves[1] = bits(&bytes[2..]);
            self.offsets[0] = -float(&bytes[2..]);
        }
        let (fifth, low) = bytes[head..].split_at(high);
        let fifth = fifth.iter().rev().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        for (j, byte) in low.iter().enumerate() {
            for (half, nibble) in [byte & 15, byte >> 4].into_iter().enumerate() {
                let at = j + 16 * half;
                let top = (fifth >> at & 1) as u8 * 16;
                self.integers[at] = (nibble | top).cast_signed() - excess;
            }
        }
    }

    /// Replaces each of the first `count` integers by the value it stands for.
    fn look_up(&mut self, count: usize) {
        for integer in &mut self.integers[..count] {
            *integer = VALUES[usize::from(integer.cast_unsigned() & 15)];
        }
    }

    fn q2_k(&mut self, bytes: &[u8]) {
        let (scales, rest) = bytes.split_at(16);
        let (low, tail) = rest.split_at(64);
        let (d, dmin) = (float(tail), float(&tail[2..]));
        self.group = 16;
        self.halves = [bits(tail), bits(&tail[2..])];
        for (group, byte) in scales.iter().enumerate() {
            self.codes[group] = (byte & 15).cast_signed();
            self.least_codes[group] = byte >> 4;
            self.scales[group] = d * f32::from(byte & 15);
            self.offsets[group] = dmin * f32::from(byte >> 4);
        }
        for (at, integer) in self.integers.iter_mut().enumerate() {
            *integer = (two_bits(low, at)).cast_signed();
        }
    }

    fn q3_k(&mut self, bytes: &[u8]) {
        let (high, rest) = bytes.split_at(32);
        let (low, rest) = rest.split_at(64);
        let (scales, tail) = rest.split_at(12);
        let d = float(tail);
        self.group = 16;
        self.halves[0] = bits(tail);
        for group in 0..16 {
            let nibble = scales[group % 8] >> (group / 8 * 4) & 15;
            let top = scales[8 + group % 4] >> (group / 4 * 2) & 3;
            self.codes[group] = (nibble | top << 4).cast_signed() - 32;
            self.scales[group] = d * f32::from(self.codes[group]);
        }
        for (at, integer) in self.integers.iter_mut().enumerate() {
            let less = if high[at % 32] >> (at / 32) & 1 == 1 { 0 } else { 4 };
            *integer = two_bits(low, at).cast_signed() - less;
        }
    }

    /// `high` bytes of fifth bits: 0 or 32.
    fn q45_k(&mut self, bytes: &[u8], high: usize) {
        let (head, rest) = bytes.split_at(16);
        let (d, dmin, scales) = (float(head), float(&head[2..]), &head[4..]);
        let (fifth, low) = rest.split_at(high);
        self.halves = [bits(head), bits(&head[2..])];
        for group in 0..8 {
            let (scale, min) = if group < 4 {
                (scales[group] & 63, scales[group + 4] & 63)
            } else {
                let both = scales[group + 4];
                (both & 15 | scales[group - 4] >> 6 << 4, both >> 4 | scales[group] >> 6 << 4)
            };
            self.codes[group] = scale.cast_signed();
            self.least_codes[group] = min;
            self.scales[group] = d * f32::from(scale);
            self.offsets[group] = dmin * f32::from(min);
        }
        for (at, integer) in self.integers.iter_mut().enumerate() {
            let nibble = low[at / 64 * 32 + at % 32] >> (at / 32 % 2 * 4) & 15;
            let top = fifth.get(at % 32).map_or(0, |byte| byte >> (at / 32) & 1);
            *integer = (nibble | top << 4).cast_signed();
        }
    }

    fn q6_k(&mut self, bytes: &[u8]) {
        let (low, rest) = bytes.split_at(128);
        let (high, rest) = rest.split_at(64);
        let (scales, tail) = rest.split_at(16);
        let d = float(tail);
        self.group = 16;
        self.halves[0] = bits(tail);
        for (group, scale) in scales.iter().enumerate() {
            self.codes[group] = scale.cast_signed();
            self.scales[group] = d * f32::from(self.codes[group]);
        }
        for (at, integer) in self.integers.iter_mut().enumerate() {
            let (half, quarter, within) = (at / 128, at / 32 % 4, at % 32);
            let nibble = low[64 * half + quarter % 2 * 32 + within] >> (quarter / 2 * 4) & 15;
            let top = high[32 * half + within] >> (quarter * 2) & 3;
            *integer = (nibble | top << 4).cast_signed() - 32;
        }
    }

    fn iq4_xs(&mut self, bytes: &[u8]) {
        let (head, low) = bytes.split_at(8);
        let (d, tops, nibbles) = (float(head), u16::from_le_bytes([head[2], head[3]]), &head[4..]);
        self.halves[0] = bits(head);
        for group in 0..8 {
            let nibble = nibbles[group / 2] >> (group % 2 * 4) & 15;
            let top = (tops >> (2 * group) & 3) as u8;
            self.codes[group] = (nibble | top << 4).cast_signed() - 32;
            self.scales[group] = d * f32::from(self.codes[group]);
        }
        for (at, integer) in self.integers.iter_mut().enumerate() {
            *integer = (low[at / 32 * 16 + at % 16] >> (at / 16 % 2 * 4) & 15).cast_signed();
        }
        self.look_up(MOST);
    }
}

/// Two bits of element `at`: each byte has those of four elements, 32 apart.
fn two_bits(bytes: &[u8], at: usize) -> u8 {
    bytes[at / 128 * 32 + at % 32] >> (at / 32 % 4 * 2) & 3
}

/// The f16 that `bytes` begin with; what is not finite becomes infinity.
fn float(bytes: &[u8]) -> f32 {
    widen_f16(bits(bytes))
}

/// The two bytes that `bytes` begin with.
fn bits(bytes: &[u8]) -> u16 {
    u16::from_le_bytes([bytes[0], bytes[1]])
}

#[cfg(test)]
mod tests;
