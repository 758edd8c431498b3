//! The CPU device: a decoder on the processor's own vector units.
//!
//! [`resolve_plan`] decides everything from facts; [`open`](fn@open) packs a checkpoint's weights accordingly and gives a
//! resident model. Results of a row are the same bits for every prefill chunk, split over calls, batch and number of
//! threads: each output element has one order of reduction.
//!
//! Absent on purpose: other devices, sampling, tokens as text. No file is written but packed weights, where a
//! [`PackedCache`] says so.
#![cfg_attr(
    test,
    expect(clippy::duplicate_mod, reason = "instruction sets run again over models of their instructions")
)]

mod attention;
mod cache;
mod exp;
mod forward;
mod host;
mod kv;
mod llama;
mod load;
pub mod matmul;
mod memory;
mod norm;
mod open;
mod options;
mod plan;
pub mod pool;
mod resident;
mod rope;
mod rows;
pub mod simd;
mod swiglu;
mod weights;

#[cfg(test)]
mod testing;

pub use cache::PackedCache;
pub use host::Host;
pub use open::open;
pub use options::CpuOptions;
pub use plan::{FORMATS, resolve_plan};
