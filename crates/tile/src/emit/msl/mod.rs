//! Metal Shading Language.
//!
//! Binding model: parameter `n` of the kernel is `[[buffer(n)]]`; scalars are read from `constant` memory. Shared
//! allocations are `threadgroup` arrays of the function. Threadgroups are dispatched with exactly the kernel's threads.
//! Fragments are `simdgroup_matrix` objects; elementwise operations go through `thread_elements()` without asking
//! which elements a lane holds. One that may cross an edge is tested as a whole and put together in scratch if so.
//!
//! Tiles are cooperative tensors of `MetalPerformancePrimitives`: a kernel that has some needs Metal 4.
//!
//! `simd_sum` adds in the hardware's order, which Apple does not document.

mod lanes;
mod math;
mod matrix;
mod prelude;
mod signature;
mod tile;
mod types;

/// The language.
pub(super) struct Msl;
