//! Support for tests of this language and of kernels written in it.
//!
//! Behind the feature `testing`: small kernels of the usual kinds (`examples`), kernels that between them use
//! everything (`zoo`), random kernels (`arbitrary`), kernels with one safeguard removed (`mutate`); behind `trial`, data
//! to run them on ([`trial`]), and what a machine made of it compared with what it means ([`conformance`]).

#[cfg(feature = "testing")]
pub mod arbitrary;
pub mod conformance;
#[cfg(feature = "testing")]
pub mod examples;
#[cfg(feature = "testing")]
pub mod mutate;
pub mod trial;
#[cfg(feature = "testing")]
pub mod zoo;
