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

/// The function that enables an instruction set and runs kernels there.
///
/// It is a method of the instruction set because the compiler puts a generic method into the unit of its type: each
/// instruction set has a unit of its own, and the units are compiled side by side. As free functions they would be one
/// unit, which is most of this crate.
pub trait Entry: Sized {
    /// Runs a kernel with the instructions enabled.
    ///
    /// # Safety
    /// The machine must have the instructions.
    unsafe fn enter<K: Kernel>(kernel: K) -> K::Output;

    /// Runs a kernel out of another, as a function of its own. A kernel of many loops is cut into several in this way:
    /// the time to compile a function grows faster than its loops.
    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) -> K::Output {
        // SAFETY: an instruction set has a value only where it was found.
        unsafe { Self::enter(kernel) }
    }
}

impl Entry for Portable {
    #[inline(never)]
    unsafe fn enter<K: Kernel>(kernel: K) -> K::Output {
        kernel.run(Self)
    }
}

/// Runs a kernel on an instruction set that detection has found.
#[inline]
pub(super) fn run<K: Kernel>(kind: Kind, kernel: K) -> K::Output {
    // SAFETY: a kind is made by detection only; models and the portable one run everywhere.
    unsafe {
        match kind {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => x86::avx512::Avx512::enter(kernel),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2Vnni => x86::avx2::Avx2::<true>::enter(kernel),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => x86::avx2::Avx2::<false>::enter(kernel),
            #[cfg(target_arch = "aarch64")]
            Kind::NeonDot => aarch64::neon::Neon::<true>::enter(kernel),
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => aarch64::neon::Neon::<false>::enter(kernel),
            Kind::Portable => Portable::enter(kernel),
            #[cfg(test)]
            Kind::ModelAvx512 => model::intel::avx512::Avx512::enter(kernel),
            #[cfg(test)]
            Kind::ModelAvx2Vnni => model::intel::avx2::Avx2::<true>::enter(kernel),
            #[cfg(test)]
            Kind::ModelAvx2 => model::intel::avx2::Avx2::<false>::enter(kernel),
            #[cfg(test)]
            Kind::ModelNeonDot => model::arm::neon::Neon::<true>::enter(kernel),
            #[cfg(test)]
            Kind::ModelNeon => model::arm::neon::Neon::<false>::enter(kernel),
        }
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
