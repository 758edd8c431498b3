//! Proofs of emitted kernel text on machines without the GPU: run on fibers, judged by clang, compiled by NVRTC.
//!
//! # Running it
//!
//! A [`Library`] is made of verified kernels in one [`Language`]. The text is the one that Metal or NVRTC would get.
//! Headers of ours give the language's names a meaning in C++; what C++ cannot take as it stands (`threadgroup` before
//! a local array, `extern "C"` in a namespace) is changed word for word, and a launcher is made from the signature.
//! [`Library::run`] is the counterpart of [`tilewright_tile::interp::run`]: the same memory, the same dispatch. [`Staged`]
//! runs a whole pipeline.
//!
//! Threads are fibers that run one after another from meeting to meeting. Functions are computed as in the
//! interpreter, and reductions in the order that the language gives them, so the results must be the interpreter's
//! bit for bit. What this cannot show: the hardware's order inside `simd_sum`, its rounding of functions, and whether
//! Apple's compiler accepts the text.
//!
//! It needs Linux on x86-64 and g++ or clang++ ([`Compiler::find`]).
//!
//! # Judging it
//!
//! [`Clang`] reads MSL as C++ for OpenCL, which has its address spaces. [`Nvrtc`] compiles CUDA text for every
//! architecture and says what the machine code uses.

mod clang;
mod compiler;
mod digest;
mod error;
mod library;
mod nvrtc;
mod raw;
mod staged;
mod translate;

pub use clang::Clang;
pub use compiler::Compiler;
pub use error::ShimError;
pub use library::{Library, Order};
pub use nvrtc::{ARCHITECTURES, Nvrtc, Usage};
pub use staged::Staged;
pub use translate::Language;
