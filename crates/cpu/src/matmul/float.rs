//! Tiles of float weights.

use tilewright_model::WeightFormat;

use super::layout::{Layout, Line};
use super::sweep::{Product, Totals};
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
    lines: &[Line],
    x: &[u32],
    totals: &mut Totals<S, M>,
) {
    if M > S::FLOAT_PAIRS {
        // The second time around the lines come from a near cache.
        vector::<S, C, L, M, 0>(simd, lines, x, totals);
        vector::<S, C, L, M, 1>(simd, lines, x, totals);
        return;
    }
    for (lines, x) in lines.as_chunks::<L>().0.iter().zip(x.as_chunks::<M>().0) {
        let w = C::widen(simd, lines);
        for m in 0..M {
            let x = simd.splat(f32::from_bits(x[m]));
            for v in 0..2 {
                totals[m][v] = simd.fma(w[v], x, totals[m][v]);
            }
        }
    }
}

/// Vector `V` of a [`tile`].
#[inline(always)]
fn vector<S: Simd, C: Coding<L>, const L: usize, const M: usize, const V: usize>(
    simd: S,
    lines: &[Line],
    x: &[u32],
    totals: &mut Totals<S, M>,
) {
    let mut sums = [simd.splat(0.0); M];
    for m in 0..M {
        sums[m] = totals[m][V];
    }
    for (lines, x) in lines.as_chunks::<L>().0.iter().zip(x.as_chunks::<M>().0) {
        let w = C::widen(simd, lines)[V];
        for m in 0..M {
            sums[m] = simd.fma(w, simd.splat(f32::from_bits(x[m])), sums[m]);
        }
    }
    for m in 0..M {
        totals[m][V] = sums[m];
    }
}

/// One row with several panels, a stream of each.
#[inline(always)]
fn row<S: Simd, C: Coding<L>, const L: usize, const P: usize>(
    simd: S,
    panels: [&[Line]; P],
    x: &[u32],
) -> Totals<S, P> {
    let panels = panels.map(|panel| &panel.as_chunks::<L>().0[..x.len()]);
    let mut totals = [[simd.splat(0.0); 2]; P];
    for (i, x) in x.iter().enumerate() {
        let x = simd.splat(f32::from_bits(*x));
        for p in 0..P {
            let w = C::widen(simd, &panels[p][i]);
            for v in 0..2 {
                totals[p][v] = simd.fma(w[v], x, totals[p][v]);
            }
        }
    }
    totals
}

impl Product for F32 {
    const FORMAT: WeightFormat = WeightFormat::F32;

    #[inline(always)]
    fn widen<S: Simd>(_: S, _: Layout, packed: &[Line], wide: &mut [Line]) {
        wide[..packed.len()].copy_from_slice(packed);
    }

    #[inline(always)]
    fn tile<S: Simd, const M: usize, const WIDE: bool>(
        simd: S,
        _: Layout,
        lines: &[Line],
        x: &[u32],
        totals: &mut Totals<S, M>,
    ) {
        tile::<S, F32, 2, M>(simd, lines, x, totals)
    }

    #[inline(always)]
    fn row<S: Simd, const P: usize>(simd: S, _: Layout, panels: [&[Line]; P], x: &[u32]) -> Totals<S, P> {
        row::<S, Self, 2, P>(simd, panels, x)
    }
}

impl Product for Bf16 {
    const FORMAT: WeightFormat = WeightFormat::Bf16;

    #[inline(always)]
    fn widen<S: Simd>(simd: S, _: Layout, packed: &[Line], wide: &mut [Line]) {
        for (line, to) in packed.iter().zip(wide.as_chunks_mut::<2>().0) {
            let [low, high] = simd.load_bf16_pair(line);
            simd.store_bytes(low, &mut to[0]);
            simd.store_bytes(high, &mut to[1]);
        }
    }

    #[inline(always)]
    fn tile<S: Simd, const M: usize, const WIDE: bool>(
        simd: S,
        _: Layout,
        lines: &[Line],
        x: &[u32],
        totals: &mut Totals<S, M>,
    ) {
        if WIDE {
            tile::<S, F32, 2, M>(simd, lines, x, totals)
        } else {
            tile::<S, Bf16, 1, M>(simd, lines, x, totals)
        }
    }

    #[inline(always)]
    fn row<S: Simd, const P: usize>(simd: S, _: Layout, panels: [&[Line]; P], x: &[u32]) -> Totals<S, P> {
        row::<S, Self, 1, P>(simd, panels, x)
    }
}
