//! One file per command. Each has its typed arguments and a function that carries it out.

pub(crate) mod bench;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod doctor;
pub(crate) mod inspect;
pub(crate) mod kernels;
pub(crate) mod perplexity;
#[cfg(feature = "pull")]
pub(crate) mod pull;
pub(crate) mod run;
pub(crate) mod runtime;
#[cfg(any(feature = "cuda", feature = "metal"))]
pub(crate) mod selftest;
pub(crate) mod serve;

mod describe;
mod prompting;
mod reply;
mod session;
