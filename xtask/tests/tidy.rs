//! The house rules of ARCHITECTURE.md, checked.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

mod tidy {
    mod acceptance;
    pub(crate) mod files;
    mod map;
    mod source;
}
