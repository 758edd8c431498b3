//! CUDA C++.
//!
//! Binding model: the parameters of the function are the kernel's, in order: pointers for buffers, values for scalars.
//! Shared allocations are static `__shared__` arrays. A launch uses exactly the kernel's threads along x and its
//! threadgroups as the grid. No header is included: f16 and bf16 are `unsigned short` in memory, converted by named
//! functions that are inline PTX under NVRTC and plain C++ otherwise.
//!
//! A fragment is a `float2` (or `ushort2`) a lane: lane `l` holds row `l / 4`, columns `l % 4 * 2` and the next. One
//! that crosses an edge is read element by element; scratch is not used. Its product is shuffles and fused
//! multiply-adds in the language's order, not the tensor cores', which round differently.

mod lanes;
mod math;
mod matrix;
mod prelude;
mod signature;
mod tile;
mod types;

/// The language.
pub(super) struct Cuda;
