//! x86-64: detection and entry points.

use core::arch::x86_64 as arch;

use crate::simd::Kernel;

#[path = "avx2.rs"]
mod avx2;
#[path = "avx512.rs"]
mod avx512;

/// Whether processor and operating system have what [`run_avx512`] enables.
pub(crate) fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vnni")
}

/// Whether processor and operating system have what [`run_avx2`] enables.
pub(crate) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
}

/// Whether processor and operating system have what [`run_avx2_vnni`] enables.
pub(crate) fn has_avx2_vnni() -> bool {
    has_avx2() && is_x86_feature_detected!("avxvnni")
}

/// Runs a kernel on AVX-512.
///
/// # Safety
/// [`has_avx512`] must hold.
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(crate) unsafe fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: this function enables the instructions.
    kernel.run(unsafe { avx512::Avx512::enabled() })
}

/// Runs a kernel on AVX2.
///
/// # Safety
/// [`has_avx2`] must hold.
#[target_feature(enable = "avx2,fma,f16c")]
pub(crate) unsafe fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: this function enables the instructions.
    kernel.run(unsafe { avx2::Avx2::<false>::enabled() })
}

/// Runs a kernel on AVX2 with integer dot products.
///
/// # Safety
/// [`has_avx2_vnni`] must hold.
#[target_feature(enable = "avx2,fma,f16c,avxvnni")]
pub(crate) unsafe fn run_avx2_vnni<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: this function enables the instructions.
    kernel.run(unsafe { avx2::Avx2::<true>::enabled() })
}
