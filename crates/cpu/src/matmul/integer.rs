//! Tiles of integer weights.

use super::layout::{Layout, Line};
use super::sweep::Product;
use crate::simd::Simd;

/// How the weights of a group lie in its pairs of lines.
trait Coding {
    /// What is added to a weight to store it, as far as [`dots`](Self::dots) does not take it back.
    fn bias<S: Simd>() -> i32;

    /// Adds to `sums` the products of the group's weights, `bias` too large, with the quantised activations.
    fn dots<S: Simd, const M: usize>(
        simd: S,
        sums: [[S::I32; 2]; M],
        lines: &[[Line; 2]],
        x: &[[u32; M]],
    ) -> [[S::I32; 2]; M];
}

/// Four inputs a pair of lines, each stored as weight + 128.
pub(super) struct Int8;

impl Coding for Int8 {
    #[inline(always)]
    fn bias<S: Simd>() -> i32 {
        S::BIAS
    }

    #[inline(always)]
    fn dots<S: Simd, const M: usize>(
        simd: S,
        mut sums: [[S::I32; 2]; M],
        lines: &[[Line; 2]],
        x: &[[u32; M]],
    ) -> [[S::I32; 2]; M] {
        for (lines, x) in lines.iter().zip(x) {
            let w = [simd.load_u8(&lines[0]), simd.load_u8(&lines[1])];
            for m in 0..M {
                for v in 0..2 {
                    sums[m][v] = simd.dot8(sums[m][v], w[v], x[m] as i32);
                }
            }
        }
        sums
    }
}

/// Eight inputs a pair of lines, each stored as weight + 8: the first four in the low halves of the bytes.
pub(super) struct Int4;

/// Pairs of lines, of two products each, that a sum takes before it is settled.
const SETTLE: usize = 4;

impl Int4 {
    #[inline(always)]
    fn pair<S: Simd, const M: usize>(
        simd: S,
        sums: &mut [[S::Sum4; 2]; M],
        lines: &[Line; 2],
        x: &[[u32; M]; 2],
    ) {
        for v in 0..2 {
            let [low, high] = simd.nibbles(simd.load_u8(&lines[v]));
            for m in 0..M {
                sums[m][v] = simd.dot4(sums[m][v], low, x[0][m] as i32);
                sums[m][v] = simd.dot4(sums[m][v], high, x[1][m] as i32);
            }
        }
    }
}

impl Coding for Int4 {
    #[inline(always)]
    fn bias<S: Simd>() -> i32 {
        8
    }

    #[inline(always)]
    fn dots<S: Simd, const M: usize>(
        simd: S,
        sums: [[S::I32; 2]; M],
        lines: &[[Line; 2]],
        x: &[[u32; M]],
    ) -> [[S::I32; 2]; M] {
        let mut sums = sums.map(|pair| pair.map(|sum| simd.begin4(sum)));
        let x = x.as_chunks::<2>().0;
        let (quads, rest) = lines.as_chunks::<SETTLE>();
        let (x_quads, x_rest) = x.as_chunks::<SETTLE>();
        for (lines, x) in quads.iter().zip(x_quads) {
            for i in 0..SETTLE {
                Self::pair(simd, &mut sums, &lines[i], &x[i]);
            }
            sums = sums.map(|pair| pair.map(|sum| simd.settle4(sum)));
        }
        for (lines, x) in rest.iter().zip(x_rest) {
            Self::pair(simd, &mut sums, lines, x);
        }
        sums.map(|pair| pair.map(|sum| simd.end4(sum)))
    }
}

/// The exact sum of a group, then one FMA, group by group.
#[inline(always)]
fn tile<S: Simd, C: Coding, const M: usize>(
    simd: S,
    layout: Layout,
    panel: &[Line],
    x: &[u32],
    words_a_pair: usize,
) -> [[S::F32; 2]; M] {
    let mut totals = [[simd.splat(0.0); 2]; M];
    let (mut panel, mut x) = (panel, x.as_chunks::<M>().0);
    for words in layout.group_words() {
        let ([scales], rest) = panel.split_first_chunk().unwrap_or((&[[0; 64]], &[]));
        let (lines, rest) = rest.split_at(2 * words / words_a_pair);
        panel = rest;
        let ([x_scales, x_sums], rest) = x.split_first_chunk().unwrap_or((&[[0; M]; 2], &[]));
        let (x_words, rest) = rest.split_at(words);
        x = rest;

        let mut sums = [[simd.splat_i32(0); 2]; M];
        for m in 0..M {
            sums[m] = [simd.splat_i32((x_sums[m] as i32).wrapping_mul(-C::bias::<S>())); 2];
        }
        let sums = C::dots(simd, sums, lines.as_chunks().0, x_words);
        let scales = simd.load_bf16_pair(scales);
        for m in 0..M {
            let x_scale = simd.splat(f32::from_bits(x_scales[m]));
            for v in 0..2 {
                let scale = simd.mul(scales[v], x_scale);
                totals[m][v] = simd.fma(simd.to_f32(sums[m][v]), scale, totals[m][v]);
            }
        }
    }
    totals
}

impl Product for Int8 {
    #[inline(always)]
    fn rows<S: Simd>() -> usize {
        S::INT_ROWS
    }

    #[inline(always)]
    fn tile<S: Simd, const M: usize>(simd: S, layout: Layout, panel: &[Line], x: &[u32]) -> [[S::F32; 2]; M] {
        tile::<S, Self, M>(simd, layout, panel, x, 1)
    }
}

impl Product for Int4 {
    #[inline(always)]
    fn rows<S: Simd>() -> usize {
        S::INT_ROWS
    }

    #[inline(always)]
    fn tile<S: Simd, const M: usize>(simd: S, layout: Layout, panel: &[Line], x: &[u32]) -> [[S::F32; 2]; M] {
        tile::<S, Self, M>(simd, layout, panel, x, 2)
    }
}
