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
    1.0 / (isa.run(SumOfSquares(x)) / x.len() as f32 + eps).sqrt()
}

struct SumOfSquares<'a>(&'a [f32]);

impl Kernel for SumOfSquares<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f32 {
        let (body, tail) = self.0.as_chunks::<LANES>();
        let mut last = [0.0; LANES];
        last[..tail.len()].copy_from_slice(tail);
        // Four chains, so that an addition need not wait for the one before it.
        let mut sums = [s.splat(0.0); 4];
        for (index, vector) in body.iter().chain([&last]).enumerate() {
            let v = s.load(vector);
            sums[index % 4] = s.fma(v, v, sums[index % 4]);
        }
        s.reduce_add(s.add(s.add(sums[0], sums[1]), s.add(sums[2], sums[3])))
    }
}

#[cfg(test)]
mod tests;
