//! Sums of f32 products as AVX-512 takes them: four registers of sixteen lanes, folded at the end.

use crate::simd::Simd;

/// Partial sums.
pub(crate) const SUMS: usize = 64;

/// The products of a sum.
pub(crate) trait Terms<S: Simd> {
    /// Both factors of the product `index`.
    fn at(&self, simd: S, index: usize) -> [S::F32; 2];
}

/// The sum of `count` products: for every lane its own.
///
/// What goes beyond whole rounds of [`SUMS`] is added in turn, in eights with the products rounded, the last few fused.
#[inline(always)]
pub(crate) fn dot<S: Simd>(simd: S, count: usize, terms: &impl Terms<S>) -> S::F32 {
    let (rounds, eights) = (count / SUMS * SUMS, count / 8 * 8);
    let mut sums = [simd.splat(0.0); SUMS];
    for first in (0..rounds).step_by(SUMS) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            let [a, b] = terms.at(simd, first + lane);
            *sum = simd.fma(a, b, *sum);
        }
    }
    let mut sum = fold(simd, sums);
    for index in rounds..eights {
        let [a, b] = terms.at(simd, index);
        sum = simd.add(sum, simd.mul(a, b));
    }
    for index in eights..count {
        let [a, b] = terms.at(simd, index);
        sum = simd.fma(a, b, sum);
    }
    sum
}

/// Adds the second half to the first until one is left.
#[inline(always)]
pub(crate) fn fold<S: Simd, const N: usize>(simd: S, mut sums: [S::F32; N]) -> S::F32 {
    let mut half = N / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] = simd.add(sums[lane], sums[lane + half]);
        }
        half /= 2;
    }
    sums[0]
}
