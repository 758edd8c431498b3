//! One token of each sequence: from token id to logits.
//!
//! Two ways: [`staged`](mod@staged), eight launches a layer that spread each product over the whole device, and
//! [`megakernel`](mod@megakernel), one launch of one threadgroup. The staged kernels take a number of sequences, which
//! share one sweep over the weights; a step of one sequence is the case of one.

pub mod attention;
mod control;
mod entries;
pub mod heads;
pub mod megakernel;
pub mod options;
pub mod overlap;
pub mod products;
pub mod rotary;
pub mod rows;
pub mod sampling;
pub mod select;
pub mod staged;

pub use entries::{ENTRIES, PIPELINES};
pub use megakernel::megakernel;
pub use options::{Attention, Layout, Options, PAGE};
pub use staged::{Goal, staged, staged_of, together, together_of};
