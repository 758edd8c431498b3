//! Products of a few rows with a part of a panel that was widened once ([`widen`](super::widen) says into what).

#![expect(
    clippy::needless_range_loop,
    reason = "a tile is indexed by row, vector and word, as it is written on paper"
)]

use tilewright_model::StoredType;

use super::super::layout::{Format, Layout, Line};
use super::super::sweep::{Tiles, Totals};
use super::{GROUP, HEADER, WORDS};
use crate::simd::Simd;

/// What products of blocks are made of.
pub(in crate::matmul) trait Kind: Tiles {
    /// Inputs that have one scale, 16 or 32.
    const GROUP: usize;
    /// Whether integers are multiplied with their sign.
    const SIGNED: bool;
    /// Words that may be summed in 16 bits.
    const SETTLE: usize;
    /// By what integers without sign are too large where no offset makes up for it.
    const EXCESS: i32;
    /// Whether groups have an offset.
    const OFFSETS: bool = !Self::SIGNED && Self::EXCESS == 0;
}

/// Integers without sign, `G` a scale, of which `SETTLE` words may be summed in 16 bits. With an `EXCESS` they are that much too
/// large, else an offset is added.
pub(in crate::matmul) struct Dot4<const G: usize, const SETTLE: usize, const EXCESS: i32>;

/// Integers with a sign, 32 a scale.
pub(in crate::matmul) struct Dot8;

/// One group of one scale in a product.
#[derive(Clone, Copy)]
pub(in crate::matmul) struct Group<S: Simd> {
    pub(super) scale: S::F32,
    /// Unused where there are none.
    pub(super) offset: S::F32,
}

/// Adds a group's exact sum to the total of row `m`.
#[inline(always)]
pub(super) fn add<S: Simd, T: Kind>(
    simd: S,
    sum: S::I32,
    group: Group<S>,
    (header, half): ([u32; HEADER], usize),
    total: S::F32,
) -> S::F32 {
    let [scale, all, first, second, integers] = header;
    let scale = simd.mul(group.scale, simd.splat(f32::from_bits(scale)));
    if !T::OFFSETS {
        let each = if T::SIGNED { S::BIAS } else { T::EXCESS };
        let excess = simd.splat_i32((integers as i32).wrapping_mul(-each));
        let sum = if each == 0 { sum } else { simd.add_i32(sum, excess) };
        return simd.fma(simd.to_f32(sum), scale, total);
    }
    let negated = match (T::GROUP, half) {
        (GROUP, _) => all,
        (_, 0) => first,
        _ => second,
    };
    let total = simd.fma(simd.to_f32(sum), scale, total);
    simd.fma(group.offset, simd.splat(f32::from_bits(negated)), total)
}

impl<const G: usize, const SETTLE: usize, const EXCESS: i32> Kind for Dot4<G, SETTLE, EXCESS> {
    const GROUP: usize = G;
    const SIGNED: bool = false;
    const SETTLE: usize = SETTLE;
    const EXCESS: i32 = EXCESS;
}

impl<const G: usize, const SETTLE: usize, const EXCESS: i32> Tiles for Dot4<G, SETTLE, EXCESS> {
    const FORMAT: Format = Format::Blocks(StoredType::Q4_0);

    #[inline(always)]
    fn tile<S: Simd, const M: usize, const WIDE: bool>(
        simd: S,
        part: Layout,
        lines: &[Line],
        x: &[u32],
        totals: &mut Totals<S, M>,
    ) {
        let mut lines = lines;
        for x in x.as_chunks::<M>().0.chunks(WORDS).take(part.cols / GROUP) {
            let (header, x) = x.split_at(HEADER);
            for (half, x) in x.chunks(G / 4).enumerate() {
                let (group, rest) = lines.split_at(4 + G / 2);
                lines = rest;
                let (head, words) = group.split_at(4);
                let words = words.as_chunks::<2>().0;
                if 2 * M + 2 <= S::REGISTERS {
                    let sums = dots4::<S, SETTLE, M, 2>(simd, 0, words, x);
                    finish::<S, Self, M, 2>(simd, 0, sums, head, (header, half), totals);
                } else {
                    for v in 0..2 {
                        let sums = dots4::<S, SETTLE, M, 1>(simd, v, words, x);
                        finish::<S, Self, M, 1>(simd, v, sums, head, (header, half), totals);
                    }
                }
            }
        }
    }
}

/// The sums of `V` vectors from `first` on.
#[inline(always)]
fn dots4<S: Simd, const SETTLE: usize, const M: usize, const V: usize>(
    simd: S,
    first: usize,
    words: &[[Line; 2]],
    x: &[[u32; M]],
) -> [[S::I32; V]; M] {
    let mut sums = [[simd.splat_i32(0); V]; M];
    for (words, x) in words.chunks(SETTLE).zip(x.chunks(SETTLE)) {
        let mut under_way = [[simd.begin4(simd.splat_i32(0)); V]; M];
        for m in 0..M {
            for v in 0..V {
                under_way[m][v] = simd.begin4(sums[m][v]);
            }
        }
        for (lines, x) in words.iter().zip(x) {
            for v in 0..V {
                let w = simd.load_u8(&lines[first + v]);
                for m in 0..M {
                    under_way[m][v] = simd.dot4(under_way[m][v], w, x[m] as i32);
                }
            }
        }
        for m in 0..M {
            for v in 0..V {
                sums[m][v] = simd.end4(under_way[m][v]);
            }
        }
    }
    sums
}

/// Adds the sums of `V` vectors from `first` on to the totals.
#[inline(always)]
fn finish<S: Simd, T: Kind, const M: usize, const V: usize>(
    simd: S,
    first: usize,
    sums: [[S::I32; V]; M],
    head: &[Line],
    (header, half): (&[[u32; M]], usize),
    totals: &mut Totals<S, M>,
) {
    for v in 0..V {
        let at = first + v;
        let scale = simd.load_bytes(&head[at]);
        let offset = if T::OFFSETS { simd.load_bytes(&head[2 + at]) } else { scale };
        for m in 0..M {
            let mut words = [0; HEADER];
            for (to, word) in words.iter_mut().zip(header) {
                *to = word[m];
            }
            totals[m][at] =
                add::<S, T>(simd, sums[m][v], Group { scale, offset }, (words, half), totals[m][at]);
        }
    }
}

impl Kind for Dot8 {
    const GROUP: usize = GROUP;
    const SIGNED: bool = true;
    const SETTLE: usize = 8;
    const EXCESS: i32 = 0;
}

impl Tiles for Dot8 {
    const FORMAT: Format = Format::Blocks(StoredType::Q8_0);

    #[inline(always)]
    fn tile<S: Simd, const M: usize, const WIDE: bool>(
        simd: S,
        part: Layout,
        lines: &[Line],
        x: &[u32],
        totals: &mut Totals<S, M>,
    ) {
        let mut lines = lines;
        for x in x.as_chunks::<M>().0.chunks(WORDS).take(part.cols / GROUP) {
            let (header, x) = x.split_at(HEADER);
            let (group, rest) = lines.split_at(2 + GROUP);
            lines = rest;
            let (head, words) = group.split_at(2);
            let words = words.as_chunks::<4>().0;
            if 2 * M + 2 <= S::REGISTERS {
                let sums = dots8::<S, M, 2>(simd, 0, words, x);
                finish::<S, Self, M, 2>(simd, 0, sums, head, (header, 0), totals);
            } else {
                for v in 0..2 {
                    let sums = dots8::<S, M, 1>(simd, v, words, x);
                    finish::<S, Self, M, 1>(simd, v, sums, head, (header, 0), totals);
                }
            }
        }
    }
}

/// As [`dots4`], of integers with their sign.
#[inline(always)]
fn dots8<S: Simd, const M: usize, const V: usize>(
    simd: S,
    first: usize,
    words: &[[Line; 4]],
    x: &[[u32; M]],
) -> [[S::I32; V]; M] {
    let mut sums = [[simd.splat_i32(0); V]; M];
    for (lines, x) in words.iter().zip(x) {
        for v in 0..V {
            let at = 2 * (first + v);
            let w = [simd.load_u8(&lines[at]), simd.load_u8(&lines[at + 1])];
            for m in 0..M {
                sums[m][v] = simd.dot8(sums[m][v], w, x[m] as i32);
            }
        }
    }
    sums
}
