//! Which of its kernels a staged GPU session uses: asked for, resolved once, and checked before every run.
//!
//! A caller may ask for two things, the attention of a prompt and the tier of its products ([`ExecutionRequest`]). Two
//! more follow from the attention and from nothing else: which caches are filled, and which decode step reads them. They
//! are derived from the attention that was *resolved*, so that no pair can be asked for that does not fit together.
//!
//! A path whose kernels are there is always honoured. One whose kernels are absent gives way:
//!
//! | asked for | absent, then |
//! | --- | --- |
//! | grouped without mirror | parametric native decode, which fills the same cache; else off |
//! | grouped with mirror | off, which is decoded in the same way |
//! | parametric native decode | off |
//! | a tier of products, role by role | the next that is there of: MSL parity, split-K, vecload4, BM64, original |

mod names;
mod plan;
mod request;
#[cfg(test)]
mod tests;

pub use names::{Attention, DecodeRoute, Gemm, KvContract};
pub use plan::{ExecutionPlan, PlanFault};
pub use request::{ByRole, ExecutionRequest, Linked};

/// Keys from which the native decode step splits them among threadgroups.
pub const SPLIT_KEYS_FROM: usize = 512;
/// Threadgroups that it splits them among.
pub const SPLIT_KEYS_PARTS: u32 = 8;
/// Rows of a prompt's products up to which a narrow tile is filled no worse than half of a wide one: those of the tile of
/// the tier `original`.
pub const NARROW_TILE_ROWS: usize = 32;

/// Whether products over so many rows take the narrow tile, where no tier was asked for: of a wide one, half would be
/// empty. Either sums in the same order, to the same bits.
pub const fn narrow_tile(rows: usize) -> bool {
    rows <= NARROW_TILE_ROWS
}
