//! Tiles of integer weights.

#![expect(
    clippy::needless_range_loop,
    reason = "a tile is indexed by row, vector and half, as it is written on paper"
)]

use super::layout::{Format, Layout, Line};
use super::sweep::{Product, Tiles, Totals};
use crate::simd::Simd;

/// Bytes ahead of a stream at which memory is asked for the next line.
const AHEAD: usize = 1024;

/// How the weights of a group lie in its lines. Every line stands for two vectors of bytes that are multiplied.
pub(super) trait Coding {
    /// The format.
    const FORMAT: Format;

    /// Words of four inputs in two lines, one for each vector of outputs.
    const WORDS: usize;

    /// What is added to a weight to store it, as far as [`dots`](Self::dots) does not take it back.
    fn bias<S: Simd>() -> i32;

    /// What a line is multiplied as.
    fn split<S: Simd>(simd: S, line: S::U8) -> [S::U8; 2];

    /// The products of `V` vectors of outputs from `first` on, each weight `bias` too large, with the quantised
    /// activations.
    fn dots<S: Simd, F: Form<L>, const L: usize, const M: usize, const V: usize>(
        simd: S,
        first: usize,
        lines: &[[Line; L]],
        x: &[[u32; M]],
    ) -> [[S::I32; V]; M];

    /// The same for one row and `P` panels, of which two lines at a time are taken in turns.
    fn row_dots<S: Simd, const P: usize>(
        simd: S,
        panels: [&[[Line; 2]]; P],
        x: &[[u32; 1]],
    ) -> [[S::I32; 2]; P];
}

/// A group's lines, `L` for every step of the inputs.
pub(super) trait Form<const L: usize> {
    /// One of the two vectors that the weights of vector `v` of the outputs are multiplied as.
    fn half<S: Simd, C: Coding>(simd: S, lines: &[Line; L], v: usize, half: usize) -> S::U8;
}

/// As in the matrix: a line for each vector, yet to be split.
struct Packed;

impl Form<2> for Packed {
    #[inline(always)]
    fn half<S: Simd, C: Coding>(simd: S, lines: &[Line; 2], v: usize, half: usize) -> S::U8 {
        C::split(simd, simd.load_u8(&lines[v]))[half]
    }
}

/// As [`widen`] leaves them: two lines for each vector.
struct Wide;

impl Form<4> for Wide {
    #[inline(always)]
    fn half<S: Simd, C: Coding>(simd: S, lines: &[Line; 4], v: usize, half: usize) -> S::U8 {
        simd.load_u8(&lines[2 * v + half])
    }
}

/// Four inputs a pair of lines, each stored as weight + 128.
pub(super) struct Int8;

impl Coding for Int8 {
    const FORMAT: Format = Format::Int8;
    const WORDS: usize = 1;

    #[inline(always)]
    fn bias<S: Simd>() -> i32 {
        S::BIAS
    }

    #[inline(always)]
    fn split<S: Simd>(simd: S, line: S::U8) -> [S::U8; 2] {
        simd.split8(line)
    }

    #[inline(always)]
    fn dots<S: Simd, F: Form<L>, const L: usize, const M: usize, const V: usize>(
        simd: S,
        first: usize,
        lines: &[[Line; L]],
        x: &[[u32; M]],
    ) -> [[S::I32; V]; M] {
        let mut sums = [[simd.splat_i32(0); V]; M];
        for (lines, x) in lines.iter().zip(x) {
            for v in 0..V {
                let v_all = first + v;
                let w =
                    [F::half::<S, Self>(simd, lines, v_all, 0), F::half::<S, Self>(simd, lines, v_all, 1)];
                for m in 0..M {
                    sums[m][v] = simd.dot8(sums[m][v], w, x[m] as i32);
                }
            }
        }
        sums
    }

    #[inline(always)]
    fn row_dots<S: Simd, const P: usize>(
        simd: S,
        panels: [&[[Line; 2]]; P],
        x: &[[u32; 1]],
    ) -> [[S::I32; 2]; P] {
        let mut sums = [[simd.splat_i32(0); 2]; P];
        for (i, [x]) in x.iter().enumerate() {
            for p in 0..P {
                let lines = &panels[p][i];
                for v in 0..2 {
                    simd.prefetch(&lines[v], AHEAD);
                    let w = simd.split8(simd.load_u8(&lines[v]));
                    sums[p][v] = simd.dot8(sums[p][v], w, *x as i32);
                }
            }
        }
        sums
    }
}

/// Eight inputs a pair of lines, each stored as weight + 8: the first four in the low halves of the bytes.
pub(super) struct Int4;

/// Pairs of lines, of two products each, that go between [`begin4`](Simd::begin4) and [`end4`](Simd::end4).
const SETTLE: usize = 4;

impl Coding for Int4 {
    const FORMAT: Format = Format::Int4;
    const WORDS: usize = 2;

    #[inline(always)]
    fn bias<S: Simd>() -> i32 {
        8
    }

    #[inline(always)]
    fn split<S: Simd>(simd: S, line: S::U8) -> [S::U8; 2] {
        simd.nibbles(line)
    }

    #[inline(always)]
    fn dots<S: Simd, F: Form<L>, const L: usize, const M: usize, const V: usize>(
        simd: S,
        first: usize,
        lines: &[[Line; L]],
        x: &[[u32; M]],
    ) -> [[S::I32; V]; M] {
        let mut sums = [[simd.splat_i32(0); V]; M];
        for (lines, x) in lines.chunks(SETTLE).zip(x.as_chunks::<2>().0.chunks(SETTLE)) {
            let mut under_way = [[simd.begin4(simd.splat_i32(0)); V]; M];
            for m in 0..M {
                for v in 0..V {
                    under_way[m][v] = simd.begin4(sums[m][v]);
                }
            }
            for (lines, x) in lines.iter().zip(x) {
                for v in 0..V {
                    for half in 0..2 {
                        let w = F::half::<S, Self>(simd, lines, first + v, half);
                        for m in 0..M {
                            under_way[m][v] = simd.dot4(under_way[m][v], w, x[half][m] as i32);
                        }
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

    #[inline(always)]
    fn row_dots<S: Simd, const P: usize>(
        simd: S,
        panels: [&[[Line; 2]]; P],
        x: &[[u32; 1]],
    ) -> [[S::I32; 2]; P] {
        let mut sums = [[simd.splat_i32(0); 2]; P];
        let x = x.as_chunks::<2>().0;
        for (chunk, x) in x.chunks(SETTLE).enumerate() {
            let mut under_way = [[simd.begin4(simd.splat_i32(0)); 2]; P];
            for p in 0..P {
                for v in 0..2 {
                    under_way[p][v] = simd.begin4(sums[p][v]);
                }
            }
            for (i, x) in x.iter().enumerate() {
                for p in 0..P {
                    let lines = &panels[p][SETTLE * chunk + i];
                    for v in 0..2 {
                        simd.prefetch(&lines[v], AHEAD);
                        let w = simd.nibbles(simd.load_u8(&lines[v]));
                        for half in 0..2 {
                            under_way[p][v] = simd.dot4(under_way[p][v], w[half], x[half][0] as i32);
                        }
                    }
                }
            }
            for p in 0..P {
                for v in 0..2 {
                    sums[p][v] = simd.end4(under_way[p][v]);
                }
            }
        }
        sums
    }
}

/// The exact sum of a group, then one FMA, group by group.
#[inline(always)]
fn tile<S: Simd, C: Coding, F: Form<L>, const L: usize, const M: usize>(
    simd: S,
    part: Layout,
    lines: &[Line],
    x: &[u32],
    totals: &mut Totals<S, M>,
) {
    let (mut lines, mut x) = (lines, x.as_chunks::<M>().0);
    for words in part.group_words() {
        let ([scales], rest) = lines.split_first_chunk().unwrap_or((&[[0; 64]], &[]));
        let (group, rest) = rest.split_at(L * words / C::WORDS);
        lines = rest;
        let (heads, rest) = x.split_first_chunk().unwrap_or((&[[0; M]; 2], &[]));
        let (x_words, rest) = rest.split_at(words);
        x = rest;

        let (group, scales) = (group.as_chunks::<L>().0, simd.load_bf16_pair(scales));
        // Sums of both vectors at once where the registers hold them beside the weights.
        if 2 * M + 2 <= S::REGISTERS {
            let sums = C::dots::<S, F, L, M, 2>(simd, 0, group, x_words);
            add_group::<S, C, M, 2>(simd, 0, sums, scales, heads, totals);
        } else {
            for v in 0..2 {
                let sums = C::dots::<S, F, L, M, 1>(simd, v, group, x_words);
                add_group::<S, C, M, 1>(simd, v, sums, scales, heads, totals);
            }
        }
    }
}

/// One row with several panels: as [`tile`], group by group.
#[inline(always)]
fn row<S: Simd, C: Coding, const P: usize>(
    simd: S,
    layout: Layout,
    panels: [&[Line]; P],
    x: &[u32],
) -> Totals<S, P> {
    let mut totals = [[simd.splat(0.0); 2]; P];
    let (mut at, mut x) = (0, x.as_chunks::<1>().0);
    for words in layout.group_words() {
        let count = 2 * words / C::WORDS;
        let (heads, rest) = x.split_first_chunk().unwrap_or((&[[0; 1]; 2], &[]));
        let (x_words, rest) = rest.split_at(words);
        x = rest;
        let mut groups = [&[] as &[[Line; 2]]; P];
        for p in 0..P {
            groups[p] = panels[p][at + 1..at + 1 + count].as_chunks().0;
        }
        let sums = C::row_dots::<S, P>(simd, groups, x_words);
        for p in 0..P {
            let scales = simd.load_bf16_pair(&panels[p][at]);
            let mut total = [totals[p]];
            add_group::<S, C, 1, 2>(simd, 0, [sums[p]], scales, heads, &mut total);
            [totals[p]] = total;
        }
        at += 1 + count;
    }
    totals
}

/// Takes the bias out of a group's sums, scales them, and adds them to the totals.
#[inline(always)]
fn add_group<S: Simd, C: Coding, const M: usize, const V: usize>(
    simd: S,
    first: usize,
    sums: [[S::I32; V]; M],
    scales: [S::F32; 2],
    [x_scales, x_sums]: &[[u32; M]; 2],
    totals: &mut Totals<S, M>,
) {
    for m in 0..M {
        let x_scale = simd.splat(f32::from_bits(x_scales[m]));
        let excess = simd.splat_i32((x_sums[m] as i32).wrapping_mul(-C::bias::<S>()));
        for v in 0..V {
            let sum = if C::bias::<S>() == 0 { sums[m][v] } else { simd.add_i32(sums[m][v], excess) };
            let scale = simd.mul(scales[first + v], x_scale);
            totals[m][first + v] = simd.fma(simd.to_f32(sum), scale, totals[m][first + v]);
        }
    }
}

/// Splits every line of weights into the two it is multiplied as.
#[inline(always)]
fn widen<S: Simd, C: Coding>(simd: S, part: Layout, packed: &[Line], wide: &mut [Line]) {
    let (mut packed, mut wide) = (packed, wide);
    for words in part.group_words() {
        let count = 2 * words / C::WORDS;
        let (group, rest) = packed.split_at(1 + count);
        let (to, after) = wide.split_at_mut(1 + 2 * count);
        (packed, wide) = (rest, after);
        to[0] = group[0];
        for (line, to) in group[1..].iter().zip(to[1..].as_chunks_mut::<2>().0) {
            let [first, second] = C::split(simd, simd.load_u8(line));
            simd.store_u8(first, &mut to[0]);
            simd.store_u8(second, &mut to[1]);
        }
    }
}

impl<C: Coding> Tiles for C {
    const FORMAT: Format = C::FORMAT;

    #[inline(always)]
    fn tile<S: Simd, const M: usize, const WIDE: bool>(
        simd: S,
        part: Layout,
        lines: &[Line],
        x: &[u32],
        totals: &mut Totals<S, M>,
    ) {
        if WIDE {
            tile::<S, C, Wide, 4, M>(simd, part, lines, x, totals)
        } else {
            tile::<S, C, Packed, 2, M>(simd, part, lines, x, totals)
        }
    }
}

impl<C: Coding> Product for C {
    // The sums of two panels, with what one product takes, are what sixteen registers hold.
    const STREAMS: usize = 2;
    const PACKED_TILES: bool = true;
    type Tiles = C;

    #[inline(always)]
    fn widen<S: Simd>(simd: S, part: Layout, packed: &[Line], wide: &mut [Line]) {
        widen::<S, C>(simd, part, packed, wide);
    }

    #[inline(always)]
    fn row<S: Simd, const P: usize>(
        simd: S,
        layout: Layout,
        panels: [&[Line]; P],
        x: &[u32],
    ) -> Totals<S, P> {
        row::<S, C, P>(simd, layout, panels, x)
    }
}
