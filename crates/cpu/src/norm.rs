//! RMSNorm.

use crate::simd::{Isa, Kernel, LANES, Simd};

/// `out = x / rms(x) * weight` with `rms(x) = √(mean(x²) + eps)`; one row.
pub(crate) fn rms_norm(isa: Isa, x: &[f32], weight: &[f32], eps: f32, out: &mut [f32]) {
    let scale = inverse_rms(isa, x, eps);
    out.iter_mut().zip(x).zip(weight).for_each(|((o, v), w)| *o = v * scale * w);
}

/// [`rms_norm`] in place.
pub(crate) fn rms_norm_in_place(isa: Isa, x: &mut [f32], weight: &[f32], eps: f32) {
    let scale = inverse_rms(isa, x, eps);
    x.iter_mut().zip(weight).for_each(|(v, w)| *v = *v * scale * w);
}

fn inverse_rms(isa: Isa, x: &[f32], eps: f32) -> f32 {
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
