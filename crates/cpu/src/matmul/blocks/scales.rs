//! How blocks keep the scales and offsets of their groups, in the first lines of a span.
//!
//! A line of f16 holds one number of each of the thirty-two outputs; a pair of lines of words, one of each.

use half::f16;
use tilewright_model::Block;

use super::super::layout::Line;
use super::tile::Group;
use crate::simd::{LANES, Simd};

/// The scales of one type.
pub(in crate::matmul) trait Scales {
    /// Lines of a span.
    const LINES: usize;

    /// One of each group of a span.
    type Each<T: Copy>: AsRef<[T]>;

    /// Scale and offset of every group of the span, for vector `v` of the outputs. An integer that was stored `excess` too
    /// large makes an offset.
    fn all<S: Simd>(simd: S, head: &[Line], v: usize, excess: i32) -> Self::Each<Group<S>>;

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

/// A group without an offset of its own.
#[inline(always)]
fn plain<S: Simd>(simd: S, scale: S::F32, excess: i32) -> Group<S> {
    Group { scale, offset: simd.mul(scale, simd.splat(excess as f32)) }
}

/// A place for each of `N` groups.
#[inline(always)]
fn places<S: Simd, const N: usize>(simd: S) -> [Group<S>; N] {
    [Group { scale: simd.splat(0.0), offset: simd.splat(0.0) }; N]
}

/// One f16 for the block's only scale and, with `OFFSETS`, one for what is added.
pub(in crate::matmul) struct Halves<const OFFSETS: bool>;

impl<const OFFSETS: bool> Scales for Halves<OFFSETS> {
    const LINES: usize = 1 + OFFSETS as usize;
    type Each<T: Copy> = [T; 1];

    #[inline(always)]
    fn all<S: Simd>(simd: S, head: &[Line], v: usize, excess: i32) -> [Group<S>; 1] {
        let scale = simd.load_f16_pair(&head[0])[v];
        if !OFFSETS {
            return [plain(simd, scale, excess)];
        }
        let added = simd.load_f16_pair(&head[1])[v];
        [Group { scale, offset: simd.sub(simd.splat(0.0), added) }]
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

/// Sixteen numbers of 6 bits: with `OFFSETS` the scales of eight groups, then their offsets, multiples of one f16 each; else
/// the scales of sixteen groups, stored 32 too large. In three words of an output the lower six bits of each byte are a number,
/// in order; the upper two of the same byte in all three words are one of the last four.
pub(in crate::matmul) struct Sixes<const OFFSETS: bool, const GROUPS: usize>;

impl<const OFFSETS: bool, const GROUPS: usize> Sixes<OFFSETS, GROUPS> {
    const FLOATS: usize = 1 + OFFSETS as usize;

    /// The numbers of vector `v`, each a byte.
    #[inline(always)]
    fn numbers<S: Simd>(simd: S, words: &[Line], v: usize) -> [Line; 4] {
        let mut numbers = [[0; 64]; 4];
        let words = [simd.load_u8(&words[v]), simd.load_u8(&words[2 + v]), simd.load_u8(&words[4 + v])];
        for (word, to) in words.into_iter().zip(&mut numbers) {
            simd.store_u8(simd.pick(word, 0, 63), to);
        }
        let upper = simd.or_u8(simd.pick(words[0], -6, 3), simd.pick(words[1], -4, 12));
        simd.store_u8(simd.or_u8(upper, simd.pick(words[2], -2, 48)), &mut numbers[3]);
        numbers
    }
}

impl<const OFFSETS: bool, const GROUPS: usize> Scales for Sixes<OFFSETS, GROUPS> {
    const LINES: usize = Self::FLOATS + 6;
    type Each<T: Copy> = [T; GROUPS];

    #[inline(always)]
    fn all<S: Simd>(simd: S, head: &[Line], v: usize, excess: i32) -> [Group<S>; GROUPS] {
        let (floats, words) = head.split_at(Self::FLOATS);
        let d = simd.load_f16_pair(&floats[0])[v];
        let least = if OFFSETS { simd.load_f16_pair(&floats[1])[v] } else { d };
        let mut all = places(simd);
        for (quarter, line) in Self::numbers(simd, words, v).iter().enumerate() {
            for byte in 0..4 {
                let n = 4 * quarter + byte;
                let number = simd.to_f32(simd.field(line, 8 * byte as u32, 63));
                if !OFFSETS {
                    all[n] = plain(simd, simd.mul(d, simd.sub(number, simd.splat(32.0))), excess);
                } else if n < GROUPS {
                    all[n].scale = simd.mul(d, number);
                } else {
                    all[n - GROUPS].offset = simd.mul(least, number);
                }
            }
        }
        all
    }

    fn put(head: &mut [Line], row: usize, block: &Block) {
        let (floats, words) = head.split_at_mut(Self::FLOATS);
        for (line, bits) in floats.iter_mut().zip(block.halves) {
            put_half(line, row, bits);
        }
        for n in 0..16 {
            let number = match OFFSETS {
                true if n < 8 => block.codes[n].cast_unsigned(),
                true => block.least_codes[n - 8],
                false => (block.codes[n] + 32).cast_unsigned(),
            };
            let (number, byte) = (u32::from(number), 8 * (n % 4));
            if n < 12 {
                add_bits(&mut words[n / 4 * 2..], row, number << byte);
            } else {
                (0..3)
                    .for_each(|k| add_bits(&mut words[2 * k..], row, (number >> (2 * k) & 3) << (byte + 6)));
            }
        }
    }

    fn read(head: &[Line], row: usize, group: usize) -> (f32, f32) {
        let (floats, words) = head.split_at(Self::FLOATS);
        let number = |n: usize| {
            let bits = |k: usize| word(&words[2 * k..], row) >> (8 * (n % 4));
            if n < 12 { bits(n / 4) & 63 } else { (0..3).map(|k| (bits(k) >> 6 & 3) << (2 * k)).sum() }
        };
        let d = half(&floats[0], row);
        if OFFSETS {
            (d * number(group) as f32, half(&floats[1], row) * number(8 + group) as f32)
        } else {
            (d * (number(group) as f32 - 32.0), 0.0)
        }
    }
}

/// Scales of sixteen groups, 8 bits each, stored 128 too large; multiples of one f16.
pub(in crate::matmul) struct Bytes;

impl Scales for Bytes {
    const LINES: usize = 9;
    type Each<T: Copy> = [T; 16];

    #[inline(always)]
    fn all<S: Simd>(simd: S, head: &[Line], v: usize, excess: i32) -> [Group<S>; 16] {
        let d = simd.load_f16_pair(&head[0])[v];
        let mut all = places(simd);
        for quarter in 0..4 {
            for byte in 0..4 {
                let number = simd.field(&head[1 + 2 * quarter + v], 8 * byte as u32, 255);
                let number = simd.sub(simd.to_f32(number), simd.splat(128.0));
                all[4 * quarter + byte] = plain(simd, simd.mul(d, number), excess);
            }
        }
        all
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
    type Each<T: Copy> = [T; 16];

    #[inline(always)]
    fn all<S: Simd>(simd: S, head: &[Line], v: usize, _: i32) -> [Group<S>; 16] {
        let (d, least) = (simd.load_f16_pair(&head[0])[v], simd.load_f16_pair(&head[1])[v]);
        let mut all = places(simd);
        for quarter in 0..4 {
            let line = &head[2 + 2 * quarter + v];
            for byte in 0..4 {
                let scale = simd.to_f32(simd.field(line, 8 * byte as u32, 15));
                let offset = simd.to_f32(simd.field(line, 8 * byte as u32 + 4, 15));
                all[4 * quarter + byte] =
                    Group { scale: simd.mul(d, scale), offset: simd.mul(least, offset) };
            }
        }
        all
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
    type Each<T: Copy> = [T; 8];

    #[inline(always)]
    fn all<S: Simd>(simd: S, head: &[Line], v: usize, excess: i32) -> [Group<S>; 8] {
        let d = simd.load_f16_pair(&head[0])[v];
        let mut all = places(simd);
        for (group, to) in all.iter_mut().enumerate() {
            let low = simd.field(&head[1 + v], (4 * group) as u32, 15);
            let high = simd.field(&head[3], (16 * v + 2 * group) as u32, 3);
            let number = simd.to_f32(simd.add_i32(low, simd.shl::<4>(high)));
            *to = plain(simd, simd.mul(d, simd.sub(number, simd.splat(32.0))), excess);
        }
        all
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
