//! Peak memory of this process.

#[cfg(unix)]
mod raw;

/// The most bytes this process ever had resident; `None` where the system does not say.
#[cfg(unix)]
pub(crate) fn peak() -> Option<u64> {
    raw::peak_resident()
}

/// The most bytes this process ever had resident; `None` where the system does not say.
#[cfg(not(unix))]
pub(crate) fn peak() -> Option<u64> {
    None
}
