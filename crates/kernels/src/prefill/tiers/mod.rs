//! Products of a chunk's rows with matrices in any format: `c = a · wᵀ`, summed in f32 on matrix fragments, or in whole tiles.
//!
//! Weights become f32 numbers as they are brought into shared memory. Every tier computes the same numbers up to the order of sums. They differ in the size of the tile, the width of
//! loads, and how work is spread:
//!
//! | tier | tile | loads | |
//! | --- | --- | --- | --- |
//! | [`original`] | 32 × 32 × 32 | one at a time | |
//! | [`bm64`] | 64 × 32 × 32 | one at a time | for the stacked query, key and value projection |
//! | [`vecload4`] | 64 × 64 × 32 | four at a time | |
//! | [`msl`] | 64 × 64 × 16 | four at a time | two buffers, one barrier a step |
//! | [`splitk`] | 32 × 32 × 64 | four at a time | each SIMD group sums a quarter of the inner index |
//! | [`tensor`] | 64 × 64 × 64 | four at a time | products of whole tiles: the tensor operations of Metal 4 (E70) |

mod buffered;
mod numbers;
mod plain;
mod role;
mod split;
mod whole;

pub use buffered::msl;
pub use plain::{bm64, original, vecload4};
pub use role::{Product, Role};
pub use split::splitk;
pub use whole::tensor;
