//! Rotary position embedding.
//!
//! Sine and cosine are the system's, as they are in llama.cpp: where the library is another, their last bit may be.

use crate::simd::{Kernel, Simd};

/// Factor from the angle of a pair to that of the next.
pub(crate) fn step(theta: f64, head_dim: usize) -> f32 {
    (theta as f32).powf(-2.0 / head_dim as f32)
}

/// The angles of `pairs` pairs at `position`.
pub(crate) fn angles(position: usize, step: f32, pairs: usize) -> impl Iterator<Item = f32> + Clone {
    std::iter::successors(Some(position as f32), move |angle| Some(angle * step)).take(pairs)
}

/// Rotates one head in place; lane `i` turns with lane `i + head_dim / 2`.
pub(crate) struct Rotate<'a> {
    pub(crate) head: &'a mut [f32],
    pub(crate) cos: &'a [f32],
    pub(crate) sin: &'a [f32],
}

impl Kernel for Rotate<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let (low, high) = self.head.split_at_mut(self.cos.len());
        for (((a, b), c), s) in low.iter_mut().zip(high).zip(self.cos).zip(self.sin) {
            (*a, *b) = (a.mul_add(*c, -(*b * s)), a.mul_add(*s, *b * c));
        }
    }
}
