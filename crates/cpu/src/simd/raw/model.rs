//! The instruction sets a second time, over scalar models of their instructions.
//!
//! What is compiled here is the text of `avx512.rs`, `avx2.rs` and `neon.rs` itself; only `super::arch` differs. A
//! test that passes on a model has run that text, whatever machine the test runs on.

use crate::simd::Kernel;

mod arm;
mod intel;

/// Runs a kernel on the model of AVX-512.
pub(crate) fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the models run everywhere.
    kernel.run(unsafe { intel::avx512::Avx512::enabled() })
}

/// Runs a kernel on the model of AVX2, with or without integer dot products.
pub(crate) fn run_avx2<const VNNI: bool, K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the models run everywhere.
    kernel.run(unsafe { intel::avx2::Avx2::<VNNI>::enabled() })
}

/// Runs a kernel on the model of NEON, with or without the dot-product extension.
pub(crate) fn run_neon<const DOT: bool, K: Kernel>(kernel: K) -> K::Output {
    // SAFETY: the models run everywhere.
    kernel.run(unsafe { arm::neon::Neon::<DOT>::enabled() })
}
