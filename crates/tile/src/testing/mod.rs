//! Support for tests of this language and of kernels written in it.
//!
//! Behind the feature `testing`: small kernels of the usual kinds ([`examples`]), kernels that between them use
//! everything ([`zoo`]), random kernels ([`arbitrary`]), kernels with one safeguard removed ([`mutate`]), and data to
//! run them on ([`trial`]).

pub mod arbitrary;
pub mod examples;
pub mod mutate;
pub mod trial;
pub mod zoo;
