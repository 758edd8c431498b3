//! Tiles of float weights.

use super::layout::{Layout, Line};
use super::sweep::Product;
use crate::simd::Simd;

/// How the weights of one input lie in `L` lines.
trait Coding<const L: usize> {
    /// The weights of a panel's outputs.
    fn widen<S: Simd>(simd: S, lines: &[Line; L]) -> [S::F32; 2];
}

/// Two lines of f32.
pub(super) struct F32;

impl Coding<2> for F32 {
    #[inline(always)]
    fn widen<S: Simd>(simd: S, [low, high]: &[Line; 2]) -> [S::F32; 2] {
        [simd.load_bytes(low), simd.load_bytes(high)]
    }
}

/// One line of bf16.
pub(super) struct Bf16;

impl Coding<1> for Bf16 {
    #[inline(always)]
    fn widen<S: Simd>(simd: S, [line]: &[Line; 1]) -> [S::F32; 2] {
        simd.load_bf16_pair(line)
    }
}

/// One FMA an input, in order.
#[inline(always)]
fn tile<S: Simd, C: Coding<L>, const L: usize, const M: usize>(
    simd: S,
    panel: &[Line],
    x: &[u32],
) -> [[S::F32; 2]; M] {
    let mut sums = [[simd.splat(0.0); 2]; M];
    for (lines, x) in panel.as_chunks::<L>().0.iter().zip(x.as_chunks::<M>().0) {
        let w = C::widen(simd, lines);
        for m in 0..M {
            let x = simd.splat(f32::from_bits(x[m]));
            for v in 0..2 {
                sums[m][v] = simd.fma(w[v], x, sums[m][v]);
            }
        }
    }
    sums
}

impl Product for F32 {
    #[inline(always)]
    fn rows<S: Simd>() -> usize {
        S::FLOAT_ROWS
    }

    #[inline(always)]
    fn tile<S: Simd, const M: usize>(simd: S, _: Layout, panel: &[Line], x: &[u32]) -> [[S::F32; 2]; M] {
        tile::<S, Self, 2, M>(simd, panel, x)
    }
}

impl Product for Bf16 {
    #[inline(always)]
    fn rows<S: Simd>() -> usize {
        S::FLOAT_ROWS
    }

    #[inline(always)]
    fn tile<S: Simd, const M: usize>(simd: S, _: Layout, panel: &[Line], x: &[u32]) -> [[S::F32; 2]; M] {
        tile::<S, Self, 1, M>(simd, panel, x)
    }
}
