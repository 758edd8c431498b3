//! Support for tests of this language and of kernels written in it.
//!
//! Behind the feature `testing`: random kernels ([`arbitrary`]) and kernels with one safeguard removed ([`mutate`]).

pub mod arbitrary;
pub mod mutate;
