//! Calls into libraries that know no Rust: the driver.

pub(crate) mod driver;
pub(crate) mod launch;
pub(crate) mod overlap;
pub(crate) mod pages;
