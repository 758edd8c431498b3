//! Sums of f32 products as AVX-512 takes them: four registers of sixteen lanes, folded at the end.

use crate::simd::{LANES, Simd};

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
    let mut sum = whole(simd, rounds, terms);
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

/// The same of factors that are f16. What goes beyond whole rounds is added in f64, the products rounded to f32.
#[inline(always)]
pub(crate) fn dot_f16<S: Simd>(simd: S, count: usize, terms: &impl Terms<S>) -> S::F32 {
    let rounds = count / SUMS * SUMS;
    let sum = whole(simd, rounds, terms);
    if rounds == count {
        return sum;
    }
    let mut lanes = [0.0; LANES];
    simd.store(sum, &mut lanes);
    let mut sums = lanes.map(f64::from);
    for index in rounds..count {
        let [a, b] = terms.at(simd, index);
        simd.store(simd.mul(a, b), &mut lanes);
        sums.iter_mut().zip(lanes).for_each(|(sum, product)| *sum += f64::from(product));
    }
    simd.load(&sums.map(|sum| sum as f32))
}

/// The sum of the first `count` products, which are whole rounds.
#[inline(always)]
fn whole<S: Simd>(simd: S, count: usize, terms: &impl Terms<S>) -> S::F32 {
    let mut sums = [simd.splat(0.0); SUMS];
    for first in (0..count).step_by(SUMS) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            let [a, b] = terms.at(simd, first + lane);
            *sum = simd.fma(a, b, *sum);
        }
    }
    fold(simd, sums)
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
