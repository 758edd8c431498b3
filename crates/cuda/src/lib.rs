//! The NVIDIA device: kernels compiled at run time for the model's shape, weights resident on the GPU.
//!
//! No toolkit is needed to build it: the driver and NVRTC are loaded at run time, and whatever is missing is refused by
//! name with the remedy. [`find`] says what a GPU is; [`resolve_plan`] decides everything from facts; [`open`](fn@open)
//! compiles (or takes from the cache) the kernels, uploads a checkpoint's weights and gives a resident model.
//!
//! Three paths. The plain one runs one kernel a stage and takes every shape. On Hopper, prompts and steps of several sequences go
//! through kernels of its matrix units; and the persistent decoder runs many tokens of one sequence in one launch, where a
//! shape allows it. Each repeats bit for bit, and a row's bits depend neither on where its prompt is cut nor on the rows
//! beside it; paths differ by rounding.
//!
//! Absent on purpose: other devices, sampling, tokens as text.

mod batch;
mod blocks;
mod cache;
mod ceilings;
mod compile;
mod decoder;
mod device;
mod gpu;
mod held;
mod hopper;
mod kv;
mod language;
mod open;
mod options;
mod overlap;
mod pack;
mod persistent;
mod pipeline;
mod plan;
mod prefill;
mod raw;
mod resident;
mod rope;
mod round;
mod rows;
mod stages;
mod suite;
pub mod text;
mod together;
mod weights;

pub use ceilings::{Ceiling, Ceilings, CeilingsProbe};
pub use compile::{Kernels, compile};
pub use gpu::{Gpu, count, find};
pub use language::{LanguageGpu, LanguageKernel};
pub use open::{open, open_model};
pub use options::CudaOptions;
pub use plan::resolve_plan;
pub use resident::CudaModel;
pub use suite::{Outcome, Suite};
pub use tilewright_nvrtc::Compiler;
