//! Reading the KV cache into vectors.

use half::f16;

use crate::kv::Element;
use crate::simd::{LANES, Simd};

/// An [`Element`] that vectors of f32 are read from.
pub(crate) trait Load: Element {
    /// Whether widening is work, so that it pays to do it once for many rows.
    const NARROW: bool;

    /// Widens exactly.
    fn load<S: Simd>(s: S, from: &[Self; LANES]) -> S::F32;
}

impl Load for f32 {
    const NARROW: bool = false;

    #[inline(always)]
    fn load<S: Simd>(s: S, from: &[Self; LANES]) -> S::F32 {
        s.load(from)
    }
}

impl Load for f16 {
    const NARROW: bool = true;

    #[inline(always)]
    fn load<S: Simd>(s: S, from: &[Self; LANES]) -> S::F32 {
        s.load_f16(bytemuck::must_cast_ref(from))
    }
}

/// Widens whole vectors.
#[inline(always)]
pub(super) fn widen<S: Simd, E: Load>(s: S, from: &[E], to: &mut [f32]) {
    for (from, to) in from.as_chunks().0.iter().zip(to.as_chunks_mut().0) {
        s.store(E::load(s, from), to);
    }
}
