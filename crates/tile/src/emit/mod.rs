//! Printers of verified kernels: Metal Shading Language and CUDA C++.
//!
//! Both print what was written, one statement an operation, constants as literals, names as given. They take a
//! [`Verified`] kernel and cannot fail. What is common to C-like languages lives here; `msl` and `cuda` mirror each
//! other file for file and hold the rest.
//!
//! Guards appear as conditions only where the verifier could not prove the coordinate inside. Signed sums and
//! products that may wrap are computed unsigned. Addresses are 64-bit only where a view reaches beyond 2^31 elements.
//!
//! The text asks for strict arithmetic itself where its language can (MSL: pragmas); CUDA text must be compiled with
//! [`CUDA_OPTIONS`]. Neither includes a header that a run-time compiler would not have.

mod address;
mod cuda;
mod dialect;
mod expression;
mod head;
mod idents;
mod msl;
mod said;
mod writer;

use crate::verify::Verified;

/// Options without which CUDA C++ text of this crate means something else: products and sums would be contracted.
pub const CUDA_OPTIONS: [&str; 1] = ["--fmad=false"];

/// The kernel as Metal Shading Language (Metal 3.1 and later; one with tiles Metal 4).
pub fn msl(kernel: &Verified) -> String {
    writer::write(kernel, &msl::Msl)
}

/// The kernel as CUDA C++ (sm_75 and later), to be compiled with [`CUDA_OPTIONS`].
pub fn cuda(kernel: &Verified) -> String {
    writer::write(kernel, &cuda::Cuda)
}
