//! x86-64: detection and entry points.

use core::arch::x86_64 as arch;

use crate::simd::{Entry, Kernel};

#[path = "avx2.rs"]
pub(crate) mod avx2;
#[path = "avx512.rs"]
pub(crate) mod avx512;

/// Whether processor and operating system have what AVX-512 kernels use.
pub(crate) fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vnni")
}

/// Whether processor and operating system have what AVX2 kernels use.
pub(crate) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
}

/// Whether processor and operating system have what AVX2 kernels with integer dot products use.
pub(crate) fn has_avx2_vnni() -> bool {
    has_avx2() && is_x86_feature_detected!("avxvnni")
}

impl Entry for avx512::Avx512 {
    #[inline(never)]
    #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
    unsafe fn enter<K: Kernel>(kernel: K) -> K::Output {
        // SAFETY: this function enables the instructions.
        kernel.run(unsafe { Self::enabled() })
    }
}

impl Entry for avx2::Avx2<false> {
    #[inline(never)]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn enter<K: Kernel>(kernel: K) -> K::Output {
        // SAFETY: this function enables the instructions.
        kernel.run(unsafe { Self::enabled() })
    }
}

impl Entry for avx2::Avx2<true> {
    #[inline(never)]
    #[target_feature(enable = "avx2,fma,f16c,avxvnni")]
    unsafe fn enter<K: Kernel>(kernel: K) -> K::Output {
        // SAFETY: this function enables the instructions.
        kernel.run(unsafe { Self::enabled() })
    }
}
