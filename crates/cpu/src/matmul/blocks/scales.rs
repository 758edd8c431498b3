//! How blocks keep the scales and offsets of their groups, in the first lines of a span.
//!
//! A line of f16 holds one number of each of the thirty-two outputs; a pair of lines of words, one of each.

use half::f16;
use tilewright_model::Block;

use super::super::layout::Line;
use crate::simd::{LANES, Simd};

/// The scales of one type.
pub(in crate::matmul) trait Scales {
    /// Lines of a span.
    const LINES: usize;
    /// Whether there are offsets.
    const OFFSETS: bool;

    /// Scale and offset of group `group` of the span, for vector `v` of the outputs.
    fn get<S: Simd>(simd: S, head: &[Line], group: usize, v: usize) -> (S::F32, S::F32);

    /// Writes those of output `row` of the panel into zeroed lines.
    fn put(head: &mut [Line], row: usize, block: &Block);

    /// Scale and offset of group `group` for output `row` of the panel.
    fn read(head: &[Line], row: usize, group: usize) -> (f32, f32);
}

/// Writes the f16 of output `row`.
fn put_half(line: &mut Line, row: usize, bits: u16) {
    line.as_chunks_mut::<2>().0[row] = bits.to_le_bytes();
}

/// The f16 of output `row`.
fn half(line: &Line, row: usize) -> f32 {
    f16::from_le_bytes(line.as_chunks::<2>().0[row]).to_f32()
}

/// Adds bits to the word of output `row` in a pair of lines.
fn add_bits(pair: &mut [Line], row: usize, bits: u32) {
    let word = &mut pair[row / LANES].as_chunks_mut::<4>().0[row % LANES];
    *word = (u32::from_le_bytes(*word) | bits).to_le_bytes();
}

/// The word of output `row` in a pair of lines.
fn word(pair: &[Line], row: usize) -> u32 {
    u32::from_le_bytes(pair[row / LANES].as_chunks::<4>().0[row % LANES])
}

#[inline(always)]
fn negated<S: Simd>(simd: S, value: S::F32) -> S::F32 {
    simd.sub(simd.splat(0.0), value)
}

/// One f16 for the block's only scale and, with `OFFSETS`, one for what is added.
pub(in crate::matmul) struct Halves<const OFFSETS: bool>;

impl<const OFFSETS: bool> Scales for Halves<OFFSETS> {
    const LINES: usize = 1 + OFFSETS as usize;
    const OFFSETS: bool = OFFSETS;

    #[inline(always)]
    fn get<S: Simd>(simd: S, head: &[Line], _: usize, v: usize) -> (S::F32, S::F32) {
        let scale = simd.load_f16_pair(&head[0])[v];
        (scale, if OFFSETS { negated(simd, simd.load_f16_pair(&head[1])[v]) } else { scale })
    }

    fn put(head: &mut [Line], row: usize, block: &Block) {
        for (line, bits) in head.iter_mut().zip(block.halves) {
            put_half(line, row, bits);
        }
    }

    fn read(head: &[Line], row: usize, _: usize) -> (f32, f32) {
        (half(&head[0], row), if OFFSETS { -half(&head[1], row) } else { 0.0 })
    }
}

/// Sixteen numbers of 6 bits, five a word and the last in what is left of the three words: with `OFFSETS` scale and offset
/// of eight groups in turns, multiples of one f16 each; else scales of sixteen groups, stored 32 too large.
pub(in crate::matmul) struct Sixes<const OFFSETS: bool>;

impl<const OFFSETS: bool> Sixes<OFFSETS> {
    const FLOATS: usize = 1 + OFFSETS as usize;

    #[inline(always)]
    fn number<S: Simd>(simd: S, head: &[Line], n: usize, v: usize) -> S::F32 {
        let words = &head[Self::FLOATS..];
        let field =
            |word: usize, shift: usize, mask: u32| simd.field(&words[2 * word + v], shift as u32, mask);
        if n < 15 {
            return simd.to_f32(field(n / 5, 6 * (n % 5), 63));
        }
        let upper = simd.add_i32(simd.shl::<2>(field(1, 30, 3)), simd.shl::<4>(field(2, 30, 3)));
        simd.to_f32(simd.add_i32(field(0, 30, 3), upper))
    }
}

impl<const OFFSETS: bool> Scales for Sixes<OFFSETS> {
    const LINES: usize = Self::FLOATS + 6;
    const OFFSETS: bool = OFFSETS;

    #[inline(always)]
    fn get<S: Simd>(simd: S, head: &[Line], group: usize, v: usize) -> (S::F32, S::F32) {
        let d = simd.load_f16_pair(&head[0])[v];
        if OFFSETS {
            let least = simd.load_f16_pair(&head[1])[v];
            let scale = simd.mul(d, Self::number(simd, head, 2 * group, v));
            (scale, simd.mul(least, Self::number(simd, head, 2 * group + 1, v)))
        } else {
            let number = simd.sub(Self::number(simd, head, group, v), simd.splat(32.0));
            let scale = simd.mul(d, number);
            (scale, scale)
        }
    }

    fn put(head: &mut [Line], row: usize, block: &Block) {
        let (floats, words) = head.split_at_mut(Self::FLOATS);
        for (line, bits) in floats.iter_mut().zip(block.halves) {
            put_half(line, row, bits);
        }
        for n in 0..16 {
            let number = match OFFSETS {
                true if n % 2 == 0 => block.codes[n / 2].cast_unsigned(),
                true => block.least_codes[n / 2],
                false => (block.codes[n] + 32).cast_unsigned(),
            };
            let number = u32::from(number);
            if n < 15 {
                add_bits(&mut words[n / 5 * 2..], row, number << (6 * (n % 5)));
            } else {
                (0..3).for_each(|k| add_bits(&mut words[2 * k..], row, (number >> (2 * k) & 3) << 30));
            }
        }
    }

    fn read(head: &[Line], row: usize, group: usize) -> (f32, f32) {
        let (floats, words) = head.split_at(Self::FLOATS);
        let number = |n: usize| match n {
            15 => (0..3).map(|k| (word(&words[2 * k..], row) >> 30) << (2 * k)).sum::<u32>(),
            n => word(&words[n / 5 * 2..], row) >> (6 * (n % 5)) & 63,
        };
        let d = half(&floats[0], row);
        if OFFSETS {
            (d * number(2 * group) as f32, half(&floats[1], row) * number(2 * group + 1) as f32)
        } else {
            (d * (number(group) as f32 - 32.0), 0.0)
        }
    }
}

/// Scales of sixteen groups, 8 bits each, stored 128 too large; multiples of one f16.
pub(in crate::matmul) struct Bytes;

impl Scales for Bytes {
    const LINES: usize = 9;
    const OFFSETS: bool = false;

    #[inline(always)]
    fn get<S: Simd>(simd: S, head: &[Line], group: usize, v: usize) -> (S::F32, S::F32) {
        let number = simd.field(&head[1 + group / 4 * 2 + v], (group % 4 * 8) as u32, 255);
        let number = simd.sub(simd.to_f32(number), simd.splat(128.0));
        let scale = simd.mul(simd.load_f16_pair(&head[0])[v], number);
        (scale, scale)
    }

    fn put(head: &mut [Line], row: usize, block: &Block) {
        put_half(&mut head[0], row, block.halves[0]);
        for (group, code) in block.codes.iter().enumerate() {
            let byte = u32::from(code.cast_unsigned() ^ 128);
            add_bits(&mut head[1 + group / 4 * 2..], row, byte << (group % 4 * 8));
        }
    }

    fn read(head: &[Line], row: usize, group: usize) -> (f32, f32) {
        let byte = word(&head[1 + group / 4 * 2..], row) >> (group % 4 * 8) & 255;
        (half(&head[0], row) * (byte as f32 - 128.0), 0.0)
    }
}

/// Scale and offset of sixteen groups, 4 bits each; multiples of one f16 each.
pub(in crate::matmul) struct Nibbles;

impl Scales for Nibbles {
    const LINES: usize = 10;
    const OFFSETS: bool = true;

    #[inline(always)]
    fn get<S: Simd>(simd: S, head: &[Line], group: usize, v: usize) -> (S::F32, S::F32) {
        let (line, shift) = (&head[2 + group / 4 * 2 + v], (group % 4 * 8) as u32);
        let scale = simd.to_f32(simd.field(line, shift, 15));
        let least = simd.to_f32(simd.field(line, shift + 4, 15));
        (simd.mul(simd.load_f16_pair(&head[0])[v], scale), simd.mul(simd.load_f16_pair(&head[1])[v], least))
    }

    fn put(head: &mut [Line], row: usize, block: &Block) {
        for (line, bits) in head.iter_mut().zip(block.halves) {
            put_half(line, row, bits);
        }
        for group in 0..16 {
            let byte = u32::from(block.codes[group].cast_unsigned() | block.least_codes[group] << 4);
            add_bits(&mut head[2 + group / 4 * 2..], row, byte << (group % 4 * 8));
        }
    }

    fn read(head: &[Line], row: usize, group: usize) -> (f32, f32) {
        let byte = word(&head[2 + group / 4 * 2..], row) >> (group % 4 * 8);
        (half(&head[0], row) * (byte & 15) as f32, half(&head[1], row) * (byte >> 4 & 15) as f32)
    }
}

/// Scales of eight groups, 6 bits each, stored 32 too large; multiples of one f16. The lower four bits are a word of each
/// output, the upper two half a word: outputs 0 to 15 in the low halves of a line's words, 16 to 31 in the high halves.
pub(in crate::matmul) struct Split;

impl Scales for Split {
    const LINES: usize = 4;
    const OFFSETS: bool = false;

    #[inline(always)]
    fn get<S: Simd>(simd: S, head: &[Line], group: usize, v: usize) -> (S::F32, S::F32) {
        let low = simd.field(&head[1 + v], (4 * group) as u32, 15);
        let high = simd.field(&head[3], (16 * v + 2 * group) as u32, 3);
        let number = simd.to_f32(simd.add_i32(low, simd.shl::<4>(high)));
        let scale = simd.mul(simd.load_f16_pair(&head[0])[v], simd.sub(number, simd.splat(32.0)));
        (scale, scale)
    }

    fn put(head: &mut [Line], row: usize, block: &Block) {
        put_half(&mut head[0], row, block.halves[0]);
        for (group, code) in block.codes[..8].iter().enumerate() {
            let number = u32::from((code + 32).cast_unsigned());
            add_bits(&mut head[1..], row, (number & 15) << (4 * group));
            add_bits(&mut head[3..], row % LANES, number >> 4 << (row / LANES * 16 + 2 * group));
        }
    }

    fn read(head: &[Line], row: usize, group: usize) -> (f32, f32) {
        let low = word(&head[1..], row) >> (4 * group) & 15;
        let high = word(&head[3..], row % LANES) >> (row / LANES * 16 + 2 * group) & 3;
        (half(&head[0], row) * ((low | high << 4) as f32 - 32.0), 0.0)
    }
}
