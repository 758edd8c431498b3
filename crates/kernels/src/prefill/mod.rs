//! Many tokens of one sequence at once.

pub mod batched;
pub mod chunk;
pub mod chunked;
pub(crate) mod entries;
mod fragments;
pub mod matmul;
mod memory;
pub mod prompt;
pub mod rotate;
pub mod rows;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub mod tiers;
pub mod weights;

pub use batched::{Batch, Path, Tier, batched, batched_of, row_logits};
pub use chunk::Chunk;
pub use chunked::{Attention, ChunkedPrefill, Options, PrefillError};
pub use entries::{ENTRIES, PIPELINES};
pub use matmul::{Depth, Product, matmul, tensor_matmul};
pub use prompt::{Piece, Progress, pieces};
pub use rotate::{CacheWrite, rotate};
