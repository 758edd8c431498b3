//! The two matrix products of attention, a few query rows at a time against one segment.
//!
//! Each output element is one chain of fused multiply-adds in the order of `head_dim` (scores) or of positions
//! (values), whatever the number of rows or vectors at a time; so a row gives the same bits alone and among
//! others.

use std::array::from_fn;

use crate::kv::BLOCK;
use crate::simd::{LANES, Simd};

use super::load::Load;

/// `out[r][key] = Σ_d queries[r][d] · keys[d][key]` for the keys of one block, `V` vectors of keys at a time.
///
/// `keys` is `[head_dim, BLOCK]`; row `r` begins at `out[r * stride]`.
#[inline(always)]
pub(super) fn scores<S: Simd, E: Load, const R: usize, const V: usize>(
    s: S,
    queries: [&[f32]; R],
    keys: &[E],
    out: &mut [f32],
    stride: usize,
) {
    let (keys, _) = keys.as_chunks::<BLOCK>();
    let queries = queries.map(|q| &q[..keys.len()]);
    for first in (0..BLOCK / LANES).step_by(V) {
        let mut sums = [[s.splat(0.0); V]; R];
        for d in 0..keys.len() {
            let vectors: [S::F32; V] = from_fn(|v| E::load(s, &keys[d].as_chunks().0[first + v]));
            for (sums, query) in sums.iter_mut().zip(queries) {
                let q = s.splat(query[d]);
                for (sum, k) in sums.iter_mut().zip(vectors) {
                    *sum = s.fma(q, k, *sum);
                }
            }
        }
        for (r, sums) in sums.into_iter().enumerate() {
            let (out, _) = out[r * stride..][..BLOCK].as_chunks_mut();
            sums.into_iter().enumerate().for_each(|(v, sum)| s.store(sum, &mut out[first + v]));
        }
    }
}

/// `out[r] += Σ_key weights[r][key] · values[key]` for `V` vectors of columns from `column` on.
///
/// `values` is `[keys, padded]`, a row of `weights` is at least `keys` long, `out` is `[R, padded]`.
#[inline(always)]
pub(super) fn weighted<S: Simd, E: Load, const R: usize, const V: usize>(
    s: S,
    weights: [&[f32]; R],
    values: &[E],
    padded: usize,
    column: usize,
    out: &mut [f32],
) {
    let width = V * LANES;
    let keys = values.len() / padded;
    let weights = weights.map(|w| &w[..keys]);
    let mut sums: [[S::F32; V]; R] = from_fn(|r| {
        let (out, _) = out[r * padded + column..][..width].as_chunks();
        from_fn(|v| s.load(&out[v]))
    });
    for key in 0..keys {
        let (row, _) = values[key * padded + column..][..width].as_chunks();
        let vectors: [S::F32; V] = from_fn(|v| E::load(s, &row[v]));
        for (sums, weights) in sums.iter_mut().zip(weights) {
            let weight = s.splat(weights[key]);
            for (sum, value) in sums.iter_mut().zip(vectors) {
                *sum = s.fma(weight, value, *sum);
            }
        }
    }
    for (r, sums) in sums.into_iter().enumerate() {
        let (out, _) = out[r * padded + column..][..width].as_chunks_mut();
        sums.into_iter().enumerate().for_each(|(v, sum)| s.store(sum, &mut out[v]));
    }
}
