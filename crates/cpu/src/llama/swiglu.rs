//! The gated activation of the MLP.

use super::exp::exp;
use crate::simd::{Kernel, Simd};

/// `out = gate / (1 + e^−gate) · up`; one row.
pub(crate) struct SwiGlu<'a> {
    pub(crate) gate: &'a [f32],
    pub(crate) up: &'a [f32],
    pub(crate) out: &'a mut [f32],
}

impl Kernel for SwiGlu<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        for ((out, gate), up) in self.out.iter_mut().zip(self.gate).zip(self.up) {
            *out = gate / (1.0 + exp(0.0 - gate)) * up;
        }
    }
}
