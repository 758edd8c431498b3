//! The NVIDIA device: kernels compiled at run time for the model's shape, weights resident on the GPU.
//!
//! No toolkit is needed to build it: the driver and NVRTC are loaded at run time, and whatever is missing is refused by
//! name with the remedy. [`find`] says what a GPU is; [`resolve_plan`] decides everything from facts; [`open`](fn@open)
//! compiles (or takes from the cache) the kernels, uploads a checkpoint's weights and gives a resident model.
//!
//! Absent on purpose: other devices, sampling, tokens as text.

mod cache;
mod compile;
mod gpu;
mod nvrtc;
mod raw;

pub use compile::{Kernels, compile};
pub use gpu::{Gpu, count, find};
pub use nvrtc::{Compiler, search};
