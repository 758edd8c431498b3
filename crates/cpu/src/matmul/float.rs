//! Tiles of float weights.

use super::layout::{Format, Layout, Line};
use super::sweep::{Product, Tiles, Totals};
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

/// Inputs that a loop takes at a time: shorter loops spend a fifth of the time on themselves.
const UNROLL: usize = 4;

/// One FMA an input, in order: lines as they are in the matrix.
#[inline(always)]
fn packed_tile<S: Simd, C: Coding<L>, const L: usize, const M: usize>(
    simd: S,
    lines: &[Line],
    x: &[u32],
    totals: &mut Totals<S, M>,
) {
    if M > S::FLOAT_PAIRS {
        // The second time around the lines come from a near cache.
        packed_vector::<S, C, L, M, 0>(simd, lines, x, totals);
        packed_vector::<S, C, L, M, 1>(simd, lines, x, totals);
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

/// Vector `V` of a [`packed_tile`].
#[inline(always)]
fn packed_vector<S: Simd, C: Coding<L>, const L: usize, const M: usize, const V: usize>(
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

/// One FMA an input, in order: the lines of the first vector, then as many of the second.
#[inline(always)]
fn wide_tile<S: Simd, const M: usize>(simd: S, lines: &[Line], x: &[u32], totals: &mut Totals<S, M>) {
    let (low, high) = lines.split_at(lines.len() / 2);
    let x = x.as_chunks::<M>().0;
    if M > S::FLOAT_PAIRS {
        wide_vector::<S, M, 0>(simd, low, x, totals);
        wide_vector::<S, M, 1>(simd, high, x, totals);
        return;
    }
    for ((low, high), x) in low.iter().zip(high).zip(x) {
        let w = [simd.load_bytes(low), simd.load_bytes(high)];
        for m in 0..M {
            let x = simd.splat(f32::from_bits(x[m]));
            for v in 0..2 {
                totals[m][v] = simd.fma(w[v], x, totals[m][v]);
            }
        }
    }
}

/// Vector `V` of a [`wide_tile`].
#[inline(always)]
fn wide_vector<S: Simd, const M: usize, const V: usize>(
    simd: S,
    lines: &[Line],
    x: &[[u32; M]],
    totals: &mut Totals<S, M>,
) {
    let mut sums = [simd.splat(0.0); M];
    for m in 0..M {
        sums[m] = totals[m][V];
    }
    let (lines, last_lines) = lines.as_chunks::<UNROLL>();
    let (x, last_x) = x.as_chunks::<UNROLL>();
    for (lines, x) in lines.iter().zip(x) {
        for u in 0..UNROLL {
            let w = simd.load_bytes(&lines[u]);
            for m in 0..M {
                sums[m] = simd.fma(w, simd.splat(f32::from_bits(x[u][m])), sums[m]);
            }
        }
    }
    for (line, x) in last_lines.iter().zip(last_x) {
        let w = simd.load_bytes(line);
        for m in 0..M {
            sums[m] = simd.fma(w, simd.splat(f32::from_bits(x[m])), sums[m]);
        }
    }
    for m in 0..M {
        totals[m][V] = sums[m];
    }
}

/// Widens every input's lines, and puts those of the first vector before those of the second, so that a pass of one
/// vector is one stream.
#[inline(always)]
fn widen<S: Simd, C: Coding<L>, const L: usize>(simd: S, part: Layout, packed: &[Line], wide: &mut [Line]) {
    let (lows, highs) = wide[..2 * part.cols].split_at_mut(part.cols);
    for ((lines, low_to), high_to) in packed.as_chunks::<L>().0.iter().zip(lows).zip(highs) {
        let [low, high] = C::widen(simd, lines);
        simd.store_bytes(low, low_to);
        simd.store_bytes(high, high_to);
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

impl Tiles for F32 {
    const FORMAT: Format = Format::F32;

    #[inline(always)]
    fn tile<S: Simd, const M: usize, const WIDE: bool>(
        simd: S,
        part: Layout,
        lines: &[Line],
        x: &[u32],
        totals: &mut Totals<S, M>,
    ) {
        if WIDE {
            wide_tile(simd, &lines[..2 * part.cols], x, totals)
        } else {
            packed_tile::<S, Self, 2, M>(simd, lines, x, totals)
        }
    }
}

impl Product for F32 {
    const STREAMS: usize = 4;
    const PACKED_TILES: bool = true;
    type Tiles = Self;

    #[inline(always)]
    fn widen<S: Simd>(simd: S, part: Layout, packed: &[Line], wide: &mut [Line]) {
        widen::<S, Self, 2>(simd, part, packed, wide);
    }

    #[inline(always)]
    fn row<S: Simd, const P: usize>(simd: S, _: Layout, panels: [&[Line]; P], x: &[u32]) -> Totals<S, P> {
        row::<S, Self, 2, P>(simd, panels, x)
    }
}

impl Tiles for Bf16 {
    const FORMAT: Format = Format::Bf16;

    #[inline(always)]
    fn tile<S: Simd, const M: usize, const WIDE: bool>(
        simd: S,
        part: Layout,
        lines: &[Line],
        x: &[u32],
        totals: &mut Totals<S, M>,
    ) {
        if WIDE {
            wide_tile(simd, &lines[..2 * part.cols], x, totals)
        } else {
            packed_tile::<S, Self, 1, M>(simd, lines, x, totals)
        }
    }
}

impl Product for Bf16 {
    const STREAMS: usize = 4;
    const PACKED_TILES: bool = true;
    type Tiles = Self;

    #[inline(always)]
    fn widen<S: Simd>(simd: S, part: Layout, packed: &[Line], wide: &mut [Line]) {
        widen::<S, Self, 1>(simd, part, packed, wide);
    }

    #[inline(always)]
    fn row<S: Simd, const P: usize>(simd: S, _: Layout, panels: [&[Line]; P], x: &[u32]) -> Totals<S, P> {
        row::<S, Self, 1, P>(simd, panels, x)
    }
}
