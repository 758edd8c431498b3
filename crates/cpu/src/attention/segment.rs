//! Attention of query rows over the keys of one segment.

use std::array::from_fn;
use std::ops::Range;

use crate::kv::{BLOCK, HeadSegment, SEGMENT};
use crate::simd::{Kernel, LANES, Simd};

use super::load::Load;
use super::products::{scores, weighted};
use super::softmax::{Weight, exponentiate};

/// One query row and how many keys of the segment it sees (at least 1).
#[derive(Clone, Copy)]
pub(super) struct Query<'a> {
    /// `[head_dim]`, after norm, RoPE and scaling.
    pub(super) row: &'a [f32],
    pub(super) valid: usize,
}

/// Rows of the widest tile.
const TILE: usize = 6;

/// For each query, `out[r] = Σ_key e^(score − most) · value` and the weight that goes with it.
///
/// Queries are in the order of the keys they see: `valid` never falls. `out` is `[queries, padded]`.
#[inline(always)]
pub(super) fn attend_segment<S: Simd, E: Load>(
    s: S,
    queries: &[Query<'_>],
    head: HeadSegment<'_, E>,
    out: &mut [f32],
    weights: &mut [Weight],
) {
    let padded = head.values.len() / SEGMENT;
    let mut scratch =
        Scratch { queries: vec![0.0; TILE * head.keys.len() / SEGMENT], scores: [[0.0; SEGMENT]; TILE] };
    let mut done = 0;
    while done < queries.len() {
        let (queries, weights) = (&queries[done..], &mut weights[done..]);
        let (out, scratch) = (&mut out[done * padded..], &mut scratch);
        done += match queries.len() {
            TILE.. => s.call(Tile::<E, TILE> { queries, head, scratch, out, weights }),
            4.. => s.call(Tile::<E, 4> { queries, head, scratch, out, weights }),
            2.. => s.call(Tile::<E, 2> { queries, head, scratch, out, weights }),
            _ => s.call(Tile::<E, 1> { queries, head, scratch, out, weights }),
        };
    }
}

/// What a tile works with.
struct Scratch {
    /// `[head_dim, R]`.
    queries: Vec<f32>,
    /// Then weights.
    scores: [[f32; SEGMENT]; TILE],
}

/// [`attend_segment`] for the first `R` queries: a kernel within the kernel; returns `R`.
struct Tile<'a, E: Load, const R: usize> {
    queries: &'a [Query<'a>],
    head: HeadSegment<'a, E>,
    scratch: &'a mut Scratch,
    out: &'a mut [f32],
    weights: &'a mut [Weight],
}

impl<E: Load, const R: usize> Kernel for Tile<'_, E, R> {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> usize {
        let Self { queries, head, scratch, out, weights } = self;
        let Scratch { queries: side_by_side, scores: scratch } = scratch;
        let padded = head.values.len() / SEGMENT;
        let valid: [usize; R] = from_fn(|r| queries[r].valid);
        let (side_by_side, _) = side_by_side.as_chunks_mut::<R>();
        let side_by_side = &mut side_by_side[..head.keys.len() / SEGMENT];
        for (r, query) in queries.iter().take(R).enumerate() {
            side_by_side.iter_mut().zip(query.row).for_each(|(to, q)| to[r] = *q);
        }
        let blocks = head.keys.chunks_exact(head.keys.len() / SEGMENT * BLOCK);
        for (block, keys) in blocks.take(valid[R - 1].div_ceil(BLOCK)).enumerate() {
            let first = block * BLOCK;
            match (wide::<S>(), R) {
                (true, _) => scores::<S, E, R, 4>(s, side_by_side, keys, scratch, first),
                (false, ..=2) => scores::<S, E, R, 2>(s, side_by_side, keys, scratch, first),
                (false, _) => scores::<S, E, R, 1>(s, side_by_side, keys, scratch, first),
            }
        }
        for (r, row) in scratch.iter_mut().take(R).enumerate() {
            weights[r] = exponentiate(s, row, valid[r]);
        }

        // Keys that all rows see go together; a row's own further keys follow, in the same order as alone. Skipping
        // what a row does not see, instead of weighing it with zero, keeps another row's NaN out of it.
        let out = &mut out[..R * padded];
        out.fill(0.0);
        let shared = valid[0];
        let weights: [&[f32; SEGMENT]; R] = from_fn(|r| &scratch[r]);
        for first in (0..shared).step_by(BLOCK) {
            columns(s, weights, first..shared.min(first + BLOCK), head.values, padded, out);
        }
        for (r, out) in out.chunks_exact_mut(padded).enumerate() {
            columns(s, [weights[r]], shared..valid[r], head.values, padded, out);
        }
        R
    }
}

/// [`weighted`] over every column, as many vectors at a time as there are registers for.
#[inline(always)]
fn columns<S: Simd, E: Load, const R: usize>(
    s: S,
    weights: [&[f32; SEGMENT]; R],
    keys: Range<usize>,
    values: &[E],
    padded: usize,
    out: &mut [f32],
) {
    let mut column = 0;
    while column < padded {
        let left = (padded - column) / LANES;
        let vectors = match (wide::<S>(), R) {
            (true, ..=2) if left >= 8 => 8,
            (true, _) if left >= 4 => 4,
            (true, _) | (false, ..=2) if left >= 2 => 2,
            _ => 1,
        };
        match vectors {
            8 => weighted::<S, E, R, 8>(s, weights, keys.clone(), values, padded, column, out),
            4 => weighted::<S, E, R, 4>(s, weights, keys.clone(), values, padded, column, out),
            2 => weighted::<S, E, R, 2>(s, weights, keys.clone(), values, padded, column, out),
            _ => weighted::<S, E, R, 1>(s, weights, keys.clone(), values, padded, column, out),
        }
        column += vectors * LANES;
    }
}

/// Whether a vector is one register and there are 32 of them; elsewhere a vector takes several.
#[inline(always)]
fn wide<S: Simd>() -> bool {
    S::FLOAT_ROWS >= 8
}
