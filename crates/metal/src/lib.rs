//! The Apple device: a decoder whose every launch is a stage of a verified pipeline, printed as Metal Shading Language.
//!
//! A [`Session`] is written once over a small [`Device`]: compile text, allocate, encode, commit, wait, read. Two things
//! are such devices. The Apple GPU is one; the other, [`ShimDevice`], compiles the same text for the processor and runs
//! it there, thread by thread, so that everything above the device is tested without a Mac.
//!
//! What is chosen among the kernels is an [`ExecutionPlan`](tilewright_backend::execution::ExecutionPlan), resolved by
//! [`resolve_plan`] from facts alone. One command buffer takes a tile of a prompt or one step; nothing waits for the
//! host between its stages; the dispatches it issued are compared with its pipeline every time.
//!
//! Absent on purpose: sampling, tokens as text, other devices.

mod conformance;
mod device;
mod facts;
mod open;
mod options;
mod plan;
mod resident;
mod session;
mod suite;

pub use conformance::{Outcome, compare};
#[cfg(any(target_os = "macos", metal_typecheck))]
pub use device::AppleDevice;
pub use device::{Bound, Device, GoesOn, Launch, ShimDevice};
pub use facts::Facts;
pub use open::{Target, find, kind, open};
pub use options::MetalOptions;
pub use plan::{linked, resolve_plan};
pub use session::{Session, Trace};
pub use suite::Suite;
