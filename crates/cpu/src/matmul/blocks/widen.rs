//! Parts of a panel in the form that many tiles are multiplied with.
//!
//! Widened, a part goes by groups of one scale: two lines of scales as f32, two for offsets where the integers are without
//! sign, then the integers as bytes, a line for each word and vector, two where they are multiplied with their sign.

use super::super::layout::{Layout, Line};
use super::scales::Scales;
use super::tile::Kind;
use super::{Blocks, GROUP, each_word};
use crate::simd::Simd;

/// See [`Product::widen`](super::Product::widen).
#[inline(always)]
pub(super) fn widen<S: Simd, B: Blocks>(simd: S, part: Layout, packed: &[Line], wide: &mut [Line]) {
    let span_lines = B::Scales::LINES + B::SPAN / GROUP * B::LINES;
    let halves = GROUP / B::Tiles::GROUP;
    let (mut groups, _) = wide.split_at_mut(part.cols / B::Tiles::GROUP * group_lines::<B>());
    for span in packed.chunks(span_lines).take(part.cols / B::SPAN) {
        let (head, integers) = span.split_at(B::Scales::LINES);
        let (here, rest) = groups.split_at_mut(B::SPAN / B::Tiles::GROUP * group_lines::<B>());
        groups = rest;
        for v in 0..2 {
            let scales = B::Scales::all(simd, head, v, B::EXCESS);
            for (to, group) in here.chunks_mut(group_lines::<B>()).zip(scales.as_ref()) {
                simd.store_bytes(group.scale, &mut to[v]);
                if B::Tiles::OFFSETS {
                    simd.store_bytes(group.offset, &mut to[2 + v]);
                }
            }
        }
        for (lines, to) in integers.chunks(B::LINES).zip(here.chunks_mut(halves * group_lines::<B>())) {
            each_word!(simd, lines, to);
        }
    }
}

/// Lines of scales and offsets of a group.
const fn heads<B: Blocks>() -> usize {
    if B::Tiles::SIGNED { 2 } else { 4 }
}

/// Lines of a word of both vectors.
const fn word_lines<B: Blocks>() -> usize {
    if B::Tiles::SIGNED { 4 } else { 2 }
}

/// Lines of a group of one scale.
const fn group_lines<B: Blocks>() -> usize {
    heads::<B>() + B::Tiles::GROUP / 4 * word_lines::<B>()
}

/// Word `W` of 32 inputs into their groups.
#[inline(always)]
fn word<S: Simd, B: Blocks, const W: usize>(simd: S, lines: &[Line], groups: &mut [Line]) {
    let words = B::Tiles::GROUP / 4;
    let to = &mut groups[W / words * group_lines::<B>() + heads::<B>() + W % words * word_lines::<B>()..];
    for v in 0..2 {
        let w = B::word::<S, W>(simd, lines, v);
        if B::Tiles::SIGNED {
            let [first, second] = simd.split8(w);
            simd.store_u8(first, &mut to[2 * v]);
            simd.store_u8(second, &mut to[2 * v + 1]);
        } else {
            simd.store_u8(w, &mut to[v]);
        }
    }
}
