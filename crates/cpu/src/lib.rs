//! The CPU device.
#![cfg_attr(
    test,
    expect(clippy::duplicate_mod, reason = "instruction sets run again over models of their instructions")
)]

pub mod matmul;
mod memory;
pub mod pool;
pub mod simd;
