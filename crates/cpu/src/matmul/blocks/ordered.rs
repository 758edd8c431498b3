//! One row with a panel in llama.cpp's order, for types of 32 inputs a block.

use super::super::layout::{Layout, Line};
use super::scales::Scales;
use super::tile::Kind;
use super::{Blocks, GROUP, each_word};
use crate::llama::lanes::fold;
use crate::llama::quantise::WORDS;
use crate::simd::Simd;

/// Sums of a row of an output: one for each word of a group.
const SUMS: usize = GROUP / 4;

/// The results of one row, in words of [`quantise`](crate::llama::quantise).
#[inline(always)]
pub(in crate::matmul) fn ordered<S: Simd, B: Blocks>(
    simd: S,
    layout: Layout,
    panel: &[Line],
    x: &[u32],
) -> [S::F32; 2] {
    let zero = simd.splat(0.0);
    let (mut sums, mut least) = ([[zero; SUMS]; 2], [zero; 2]);
    let blocks = panel.chunks_exact(B::Scales::LINES + B::LINES);
    for (lines, x) in blocks.zip(x.as_chunks::<WORDS>().0).take(layout.cols / GROUP) {
        let (head, integers) = lines.split_at(B::Scales::LINES);
        let [scale, negated, x @ ..] = x;
        let mut scales = [zero; 2];
        for v in 0..2 {
            let group = B::Scales::all(simd, head, v, 0);
            let group = group.as_ref()[0];
            scales[v] = simd.mul(group.scale, simd.splat(f32::from_bits(*scale)));
            if B::Tiles::OFFSETS {
                least[v] = simd.fma(group.offset, simd.splat(f32::from_bits(*negated)), least[v]);
            }
        }
        each_word!(simd, integers, x, scales, &mut sums);
    }
    let [low, high] = sums;
    let totals = [fold(simd, low), fold(simd, high)];
    if !B::Tiles::OFFSETS {
        return totals;
    }
    [simd.add(totals[0], least[0]), simd.add(totals[1], least[1])]
}

/// Adds the products of word `W` to its sum. What integers are stored too large is taken off by the sums of the inputs.
#[inline(always)]
fn word<S: Simd, B: Blocks, const W: usize>(
    simd: S,
    lines: &[Line],
    x: &[u32; 2 * SUMS],
    scales: [S::F32; 2],
    sums: &mut [[S::F32; SUMS]; 2],
) {
    let (of_four, x) = (x[W] as i32, x[SUMS + W] as i32);
    let excess = if B::Tiles::SIGNED { S::BIAS } else { B::Tiles::EXCESS };
    for v in 0..2 {
        let (w, zero) = (B::word::<S, W>(simd, lines, v), simd.splat_i32(0));
        let mut exact = match B::Tiles::SIGNED {
            true => simd.dot8(zero, simd.split8(w), x),
            false => simd.end4(simd.dot4(simd.begin4(zero), w, x)),
        };
        if excess != 0 {
            exact = simd.add_i32(exact, simd.splat_i32(-excess * of_four));
        }
        sums[v][W] = simd.fma(simd.to_f32(exact), scales[v], sums[v][W]);
    }
}
