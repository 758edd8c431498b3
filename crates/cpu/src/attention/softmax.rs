//! Softmax over one segment, and merging segments.

use crate::exp::exp;
use crate::simd::{LANES, Simd};

/// What is known of one query row after some segments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Weight {
    /// The largest score.
    pub(super) most: f32,
    /// Σ e^(score − most).
    pub(super) sum: f32,
}

/// Turns `scores[..valid]` into e^(score − largest). What follows, up to a whole vector, is spoiled.
///
/// `scores` is at least `valid` rounded up to a multiple of [`LANES`] long.
#[inline(always)]
pub(super) fn exponentiate<S: Simd>(s: S, scores: &mut [f32], valid: usize) -> Weight {
    let whole = valid.next_multiple_of(LANES);
    scores[valid..whole].fill(f32::NEG_INFINITY);
    let (vectors, _) = scores[..whole].as_chunks_mut::<LANES>();
    let mut most = s.splat(f32::NEG_INFINITY);
    for vector in vectors.iter() {
        most = s.max(s.load(vector), most);
    }
    let most = s.reduce_max(most);
    let mut sum = s.splat(0.0);
    for vector in vectors {
        let weight = exp(s, s.sub(s.load(vector), s.splat(most)));
        s.store(weight, vector);
        sum = s.add(sum, weight);
    }
    // Masked lanes weigh 1e-38 each, the largest score 1: the sum does not see them.
    Weight { most, sum: s.reduce_add(sum) }
}

/// Adds a later segment's result to that of the segments before it. `out` and `add` are whole vectors.
#[inline(always)]
pub(super) fn merge<S: Simd>(s: S, weight: &mut Weight, out: &mut [f32], later: Weight, add: &[f32]) {
    let most = if later.most > weight.most { later.most } else { weight.most };
    let mut factors = [0.0; LANES];
    factors[..2].copy_from_slice(&[weight.most - most, later.most - most]);
    s.store(exp(s, s.load(&factors)), &mut factors);
    let [keep, take, ..] = factors;
    *weight = Weight { most, sum: weight.sum * keep + later.sum * take };
    let (keep, take) = (s.splat(keep), s.splat(take));
    for (out, add) in out.as_chunks_mut().0.iter_mut().zip(add.as_chunks().0) {
        s.store(s.fma(s.load(out), keep, s.mul(s.load(add), take)), out);
    }
}

#[cfg(test)]
mod tests;
