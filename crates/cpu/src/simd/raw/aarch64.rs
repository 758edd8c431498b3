//! AArch64: detection and entry points.

use std::arch::is_aarch64_feature_detected;

use crate::simd::{Entry, Kernel};

#[path = "neon.rs"]
pub(crate) mod neon;

/// The processor's instructions, with those that the standard library does not offer yet.
mod arch {
    use std::arch::asm;

    pub(super) use core::arch::aarch64::*;

    /// Adds to each lane the dot product of four i8.
    ///
    /// # Safety
    /// Only inside a function that has `dotprod` enabled.
    #[inline(always)]
    pub(super) unsafe fn sdot(sum: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
        let mut sum = sum;
        // SAFETY: one instruction on registers, enabled by the caller.
        unsafe {
            asm!("sdot {0:v}.4s, {1:v}.16b, {2:v}.16b", inout(vreg) sum, in(vreg) a, in(vreg) b,
                options(pure, nomem, nostack, preserves_flags));
        }
        sum
    }

    /// Asks for a cache line.
    ///
    /// # Safety
    /// None needed; unsafe like the instruction it stands beside.
    #[inline(always)]
    pub(super) unsafe fn prefetch(at: *const i8) {
        // SAFETY: a prefetch reads nothing, wherever it points.
        unsafe { asm!("prfm pldl1keep, [{0}]", in(reg) at, options(nostack, preserves_flags, readonly)) }
    }
}

/// Whether the processor has what NEON kernels use.
pub(crate) fn has_neon() -> bool {
    is_aarch64_feature_detected!("neon")
}

/// Whether the processor has what NEON kernels with dot products use.
pub(crate) fn has_neon_dot() -> bool {
    has_neon() && is_aarch64_feature_detected!("dotprod")
}

impl Entry for neon::Neon<false> {
    #[inline(never)]
    #[target_feature(enable = "neon")]
    unsafe fn enter<K: Kernel>(kernel: K) -> K::Output {
        // SAFETY: this function enables the instructions.
        kernel.run(unsafe { Self::enabled() })
    }
}

impl Entry for neon::Neon<true> {
    #[inline(never)]
    #[target_feature(enable = "neon,dotprod")]
    unsafe fn enter<K: Kernel>(kernel: K) -> K::Output {
        // SAFETY: this function enables the instructions.
        kernel.run(unsafe { Self::enabled() })
    }
}
