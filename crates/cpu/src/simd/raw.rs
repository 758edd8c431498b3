//! Instruction sets: the operations in terms of intrinsics, and the entry points that enable them.
//!
//! `avx512.rs`, `avx2.rs` and `neon.rs` name instructions by their C names and say nothing about where they come
//! from: `super::arch` is the processor's in `x86` and `aarch64`, and a scalar model of it in `model`.

use super::isa::Kind;
use super::{Kernel, Portable};

#[cfg(target_arch = "aarch64")]
pub(super) mod aarch64;
#[cfg(test)]
mod model;
#[cfg(target_arch = "x86_64")]
pub(super) mod x86;

/// Runs a kernel on an instruction set that detection has found.
#[inline]
pub(super) fn run<K: Kernel>(kind: Kind, kernel: K) -> K::Output {
    match kind {
        // SAFETY (all of them): a kind is made by detection only.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Kind::Avx512 => unsafe { x86::run_avx512(kernel) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Kind::Avx2Vnni => unsafe { x86::run_avx2_vnni(kernel) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Kind::Avx2 => unsafe { x86::run_avx2(kernel) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Kind::NeonDot => unsafe { aarch64::run_neon_dot(kernel) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Kind::Neon => unsafe { aarch64::run_neon(kernel) },
        Kind::Portable => kernel.run(Portable),
        #[cfg(test)]
        Kind::ModelAvx512 => model::run_avx512(kernel),
        #[cfg(test)]
        Kind::ModelAvx2Vnni => model::run_avx2::<true, K>(kernel),
        #[cfg(test)]
        Kind::ModelAvx2 => model::run_avx2::<false, K>(kernel),
        #[cfg(test)]
        Kind::ModelNeonDot => model::run_neon::<true, K>(kernel),
        #[cfg(test)]
        Kind::ModelNeon => model::run_neon::<false, K>(kernel),
    }
}

/// Writes operations as `#[inline(always)]` methods whose bodies may name intrinsics.
macro_rules! ops {
    ($(fn $name:ident $(<const $n:ident: u32>)? ($($arg:ident: $ty:ty),*) $(-> $ret:ty)? $body:block)*) => {
        $(
            #[inline(always)]
            fn $name $(<const $n: u32>)? (self, $($arg: $ty),*) $(-> $ret)? {
                // SAFETY: `self` exists only inside the entry point that enables the instructions (its constructor
                // asks for that), and every pointer comes from a reference to an array of the size accessed.
                unsafe { $body }
            }
        )*
    };
}
use ops;
