//! Zeroed memory in large pages.
//!
//! Pages are taken from the system untouched, so memory that is reserved and not yet written costs nothing.

mod raw;

pub(crate) use raw::Pages;

#[cfg(test)]
mod tests;
