//! The Intel files over modelled instructions.

#[path = "x86.rs"]
mod arch;
#[path = "../avx2.rs"]
pub(in crate::simd::raw) mod avx2;
#[path = "../avx512.rs"]
pub(in crate::simd::raw) mod avx512;
