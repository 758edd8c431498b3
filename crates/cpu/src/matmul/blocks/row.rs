//! Products of one row with panels as they are in memory.

use super::super::layout::{Layout, Line};
use super::super::sweep::Totals;
use super::scales::Scales;
use super::tile::{Kind, add};
use super::{Blocks, GROUP, HEADER, WORDS, each_word};
use crate::simd::Simd;

/// Bytes ahead of a stream at which memory is asked for the next line.
const AHEAD: usize = 1024;

/// Words of a group's integers.
const INTEGERS: usize = WORDS - HEADER;

/// See [`Product::row`](super::Product::row): as a tile, group by group, straight from the packed lines.
#[inline(always)]
pub(super) fn row<S: Simd, B: Blocks, const P: usize>(
    simd: S,
    layout: Layout,
    panels: [&[Line]; P],
    x: &[u32],
) -> Totals<S, P> {
    let span_lines = B::Scales::LINES + B::SPAN / GROUP * B::LINES;
    let mut totals = [[simd.splat(0.0); 2]; P];
    let spans = x.as_chunks::<WORDS>().0.chunks_exact(B::SPAN / GROUP);
    for (span, x) in spans.take(layout.cols / B::SPAN).enumerate() {
        for p in 0..P {
            let lines = &panels[p][span * span_lines..][..span_lines];
            totals[p] = row_span::<S, B>(simd, lines, x, totals[p]);
        }
    }
    totals
}

/// Adds the products of a span's inputs with one row.
#[inline(always)]
fn row_span<S: Simd, B: Blocks>(
    simd: S,
    lines: &[Line],
    x: &[[u32; WORDS]],
    totals: [S::F32; 2],
) -> [S::F32; 2] {
    let (head, integers) = lines.split_at(B::Scales::LINES);
    for line in head {
        simd.prefetch(line, AHEAD);
    }
    // All scales before the integers, so that which bits a scale is in is known when this is compiled.
    let scales = [B::Scales::all(simd, head, 0, B::EXCESS), B::Scales::all(simd, head, 1, B::EXCESS)];
    let halves = GROUP / B::Tiles::GROUP;
    let mut totals = totals;
    for (index, (lines, x)) in integers.chunks_exact(B::LINES).zip(x).enumerate() {
        for line in lines {
            simd.prefetch(line, AHEAD);
        }
        let (header, x) = x.split_first_chunk::<HEADER>().unwrap_or((&[0; HEADER], &[]));
        let Some(x) = x.first_chunk::<INTEGERS>() else { continue };
        let zero = simd.splat_i32(0);
        let mut sums = Sums { whole: [[zero; 2]; 2], under_way: [simd.begin4(zero); 2] };
        each_word!(simd, lines, x, &mut sums);
        for half in 0..halves {
            for v in 0..2 {
                let group = scales[v].as_ref()[index * halves + half];
                totals[v] = add::<S, B::Tiles>(simd, sums.whole[half][v], group, (*header, half), totals[v]);
            }
        }
    }
    totals
}

/// Exact sums of a group, by half (where there is one scale, all in the first) and vector.
struct Sums<S: Simd> {
    whole: [[S::I32; 2]; 2],
    under_way: [S::Sum4; 2],
}

/// Adds the products of word `W`. Both vectors meet it, so that it is brought into a register once.
#[inline(always)]
fn word<S: Simd, B: Blocks, const W: usize>(
    simd: S,
    lines: &[Line],
    x: &[u32; INTEGERS],
    sums: &mut Sums<S>,
) {
    let half = 4 * W / B::Tiles::GROUP;
    for v in 0..2 {
        let w = B::word::<S, W>(simd, lines, v);
        let whole = &mut sums.whole[half][v];
        if B::Tiles::SIGNED {
            *whole = simd.dot8(*whole, simd.split8(w), x[W] as i32);
            continue;
        }
        if W.is_multiple_of(B::Tiles::SETTLE) {
            sums.under_way[v] = simd.begin4(*whole);
        }
        sums.under_way[v] = simd.dot4(sums.under_way[v], w, x[W] as i32);
        if (W + 1).is_multiple_of(B::Tiles::SETTLE) {
            *whole = simd.end4(sums.under_way[v]);
        }
    }
}
