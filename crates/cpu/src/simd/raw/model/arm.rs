//! The Arm file over modelled instructions.

#[path = "aarch64.rs"]
mod arch;
#[path = "../neon.rs"]
pub(in crate::simd::raw) mod neon;
