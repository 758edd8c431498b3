//! The instruction sets a second time, over scalar models of their instructions.
//!
//! What is compiled here is the text of `avx512.rs`, `avx2.rs` and `neon.rs` itself; only `super::arch` differs. A
//! test that passes on a model has run that text, whatever machine the test runs on.

use crate::simd::{Entry, Kernel};

pub(super) mod arm;
pub(super) mod intel;

macro_rules! entry {
    ($($set:ty),*) => {
        $(impl Entry for $set {
            #[inline(never)]
            unsafe fn enter<K: Kernel>(kernel: K) -> K::Output {
                // SAFETY: the models run everywhere.
                kernel.run(unsafe { Self::enabled() })
            }
        })*
    };
}
entry!(intel::avx512::Avx512, intel::avx2::Avx2<false>, intel::avx2::Avx2<true>);
entry!(arm::neon::Neon<false>, arm::neon::Neon<true>);
