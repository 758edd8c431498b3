//! RMSNorm.

use crate::simd::{Isa, Kernel, LANES, Simd};

/// `1 / √(mean(x²) + eps)`; one row.
pub(crate) fn inverse_rms(isa: Isa, x: &[f32], eps: f32) -> f32 {
    let mean = isa.run(SumOfSquares(x)) / x.len() as f64;
    1.0 / (mean as f32 + eps).sqrt()
}

/// The squares are rounded to f32; their sum is not. One unit in its last place would move a whole row, and with it those of
/// its values that are rounded to integers from halfway between two.
struct SumOfSquares<'a>(&'a [f32]);

impl Kernel for SumOfSquares<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> f64 {
        let (body, tail) = self.0.as_chunks::<LANES>();
        let mut last = [0.0; LANES];
        last[..tail.len()].copy_from_slice(tail);
        // A chain for each lane, which the compiler keeps in vectors.
        let mut sums = [0.0; LANES];
        for vector in body.iter().chain([&last]) {
            for (sum, v) in sums.iter_mut().zip(vector) {
                *sum += f64::from(v * v);
            }
        }
        sums.iter().sum()
    }
}

#[cfg(test)]
mod tests;
