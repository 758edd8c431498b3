//! The house rules of ARCHITECTURE.md, checked.

mod tidy {
    pub(crate) mod files;
    mod map;
    mod source;
}
