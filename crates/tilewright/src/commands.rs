//! One file per command. Each has its typed arguments and a function that carries it out.

pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod inspect;

mod describe;
