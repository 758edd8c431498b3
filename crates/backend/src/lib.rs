//! The contract a device fulfils, and the plan it carries out.
//!
//! A device crate turns a checkpoint into a [`Resident`] model: weights uploaded or packed once, sequences with
//! their own KV cache, prefill in chunks, one decode step for one or several sequences. Everything that chooses
//! how (format, kernels, threads, chunk, context) is in the [`Plan`], resolved before any device is touched. The choice
//! among the kernels of a staged session has its own rules: [`execution`].

mod checks;
pub mod entry_point;
pub mod execution;
pub mod greedy;
pub mod ledger;
mod numerics;
mod packing;
mod plan;
mod progress;
mod resident;
pub mod scan;
pub mod support;

pub use checks::Checks;
pub use greedy::Greedy;
pub use numerics::Numerics;
pub use packing::{Packing, Scopes};
pub use plan::{DeviceKind, Kernels, KvFormat, Plan};
pub use progress::{Progress, Stage, Watch};
pub use resident::{Cancel, LogitSink, Paging, Resident, Sequence, Step};
