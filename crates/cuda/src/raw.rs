//! Calls into libraries that know no Rust: the driver and NVRTC.

pub(crate) mod driver;
pub(crate) mod launch;
pub(crate) mod nvrtc;
