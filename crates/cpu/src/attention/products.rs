//! The two matrix products of attention, a few query rows at a time against one segment.
//!
//! Each output element is one chain of fused multiply-adds in the order of `head_dim` (scores) or of positions
//! (values), whatever the number of rows or vectors at a time; so a row gives the same bits alone and among
//! others.

use std::ops::Range;

use crate::kv::{BLOCK, SEGMENT};
use crate::simd::{LANES, Simd};

use super::load::Load;

/// Rows up to which time goes into reading the cache: what comes a block later is asked for meanwhile.
const FEW: usize = 2;

/// Asks for what lies `ahead` bytes after `row` and is as long.
#[inline(always)]
fn ask_for<S: Simd, E: Load>(s: S, row: &[E], ahead: usize) {
    for line in (0..size_of_val(row)).step_by(64) {
        s.prefetch(&row[0], ahead + line);
    }
}

/// `out[r][first + key] = Σ_d queries[d][r] · keys[d][key]` for the keys of one block, `V` vectors of keys at a time.
///
/// `keys` is `[head_dim, BLOCK]`. Rows lie side by side in `queries`, so that the loop needs one address for all.
#[inline(always)]
pub(super) fn scores<S: Simd, E: Load, const R: usize, const V: usize>(
    s: S,
    queries: &[[f32; R]],
    keys: &[E],
    out: &mut [[f32; SEGMENT]],
    first: usize,
) {
    let ahead = size_of_val(keys);
    let (keys, _) = keys.as_chunks::<BLOCK>();
    for vector in (0..BLOCK / LANES).step_by(V) {
        let mut sums = [[s.splat(0.0); V]; R];
        for (keys, query) in keys.iter().zip(queries) {
            if R <= FEW && vector == 0 {
                ask_for(s, keys, ahead);
            }
            let mut vectors = [s.splat(0.0); V];
            for (v, keys) in vectors.iter_mut().zip(&keys.as_chunks().0[vector..]) {
                *v = E::load(s, keys);
            }
            for (sums, q) in sums.iter_mut().zip(query) {
                let q = s.splat(*q);
                for (sum, k) in sums.iter_mut().zip(vectors) {
                    *sum = s.fma(q, k, *sum);
                }
            }
        }
        for (out, sums) in out.iter_mut().zip(sums) {
            for (sum, out) in sums.into_iter().zip(&mut out[first..][..BLOCK].as_chunks_mut().0[vector..]) {
                s.store(sum, out);
            }
        }
    }
}

/// `out[r] += Σ_key weights[r][key] · values[key]` over `keys`, for `V` vectors of columns from `column` on.
///
/// `values` is `[SEGMENT, padded]`, `out` is `[R, padded]`.
#[inline(always)]
pub(super) fn weighted<S: Simd, E: Load, const R: usize, const V: usize>(
    s: S,
    weights: [&[f32; SEGMENT]; R],
    keys: Range<usize>,
    values: &[E],
    padded: usize,
    column: usize,
    out: &mut [f32],
) {
    let width = V * LANES;
    let mut sums = [[s.splat(0.0); V]; R];
    for (r, sums) in sums.iter_mut().enumerate() {
        for (sum, out) in sums.iter_mut().zip(out[r * padded + column..][..width].as_chunks().0) {
            *sum = s.load(out);
        }
    }
    let rows = values[keys.start * padded..keys.end * padded].chunks_exact(padded);
    for (key, row) in keys.zip(rows) {
        if R <= FEW && column == 0 {
            ask_for(s, row, BLOCK * size_of_val(row));
        }
        let (row, _) = row[column..][..width].as_chunks();
        let mut vectors = [s.splat(0.0); V];
        for (v, row) in vectors.iter_mut().zip(row) {
            *v = E::load(s, row);
        }
        for (sums, weights) in sums.iter_mut().zip(weights) {
            let weight = s.splat(weights[key]);
            for (sum, value) in sums.iter_mut().zip(vectors) {
                *sum = s.fma(weight, value, *sum);
            }
        }
    }
    for (r, sums) in sums.into_iter().enumerate() {
        for (sum, out) in sums.into_iter().zip(out[r * padded + column..][..width].as_chunks_mut().0) {
            s.store(sum, out);
        }
    }
}
