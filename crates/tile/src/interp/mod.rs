//! The reference interpreter: what a kernel means.
//!
//! [`Program::new`] flattens a kernel into instructions on registers of 32 lanes; [`run`](fn@run) executes a dispatch,
//! threadgroup by threadgroup, each SIMD group up to its next barrier. Arithmetic is IEEE f32 with the roundings
//! written in the kernel; the mathematical functions are those of the C library in f64, rounded once.
//!
//! It also watches: an access outside a view, a read of memory nobody wrote, two threads touching one element
//! without a barrier between (shared memory) or within one dispatch (device memory), a barrier or collective not
//! reached by all lanes, misaligned vectors, integer division by zero. The first such event ends the run with a
//! [`Fault`] naming the operation, the builder line and the thread.

mod access;
mod bind;
mod compile;
mod fault;
mod fragment;
mod lanes;
mod memory;
mod program;
mod run;
mod shadow;
mod tile;

pub use fault::{Fault, FaultKind};
pub use memory::{Bound, BufferId, Memory, Slice};
pub use program::Program;
pub use run::{Dispatch, Stats, run};
