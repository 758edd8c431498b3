//! Flash attention: positions one after the other, each weighed against the greatest score so far, and values summed in f16.

use super::attention::{Head, rounded};
use crate::attention::Load;
use crate::simd::{LANES, Simd};

/// One query head. Weights are the system's `eˣ`.
#[inline(always)]
pub(super) fn flash<S: Simd, E: Load>(simd: S, head: Head<'_, E>) {
    let (scale, query) = (head.scale(), head.ordered(simd));
    let (mut most, mut sum, mut scores) = (f32::NEG_INFINITY, 0.0_f32, [0.0; LANES]);
    let mut sums = vec![[0.0; LANES]; head.dims().div_ceil(LANES)];
    for (position, values) in head.values().enumerate() {
        if position % LANES == 0 {
            simd.store(head.products(simd, position, &query), &mut scores);
        }
        let score = scores[position % LANES] * scale;
        let (mut before, mut weight) = (1.0, 1.0);
        if score > most {
            (before, most) = ((most - score).exp(), score);
            sums.iter_mut().for_each(|sums| {
                *sums = rounded::<S, E>(simd, simd.mul(simd.load(sums), simd.splat(before)))
            });
        } else {
            weight = (score - most).exp();
        }
        for (sums, values) in sums.iter_mut().zip(values.as_chunks().0) {
            *sums =
                rounded::<S, E>(simd, simd.fma(E::load(simd, values), simd.splat(weight), simd.load(sums)));
        }
        sum = sum.mul_add(before, weight);
    }
    let inverse = 1.0 / sum;
    for (out, sums) in head.out.chunks_mut(LANES).zip(sums) {
        out.iter_mut().zip(sums).for_each(|(out, sum)| *out = sum * inverse);
    }
}
