//! The bytes of a weight file, mapped or held.

use std::borrow::Cow;
use std::fs::File;
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

/// Bytes that live as long as the checkpoint.
#[derive(Debug)]
pub(crate) enum Bytes {
    /// A file mapped read-only.
    Mapped(Mmap),
    /// Embedded in the program, or handed over by the caller.
    Held(Cow<'static, [u8]>),
}

impl Bytes {
    /// Maps a file. Nothing is read until it is looked at.
    pub(crate) fn map(path: &Path) -> std::io::Result<Self> {
        // A pipe would be waited for.
        if !std::fs::metadata(path)?.is_file() {
            return Err(std::io::Error::other("not a regular file"));
        }
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Self::Held(Cow::Borrowed(&[])));
        }
        // SAFETY: the mapping is read-only and private to this value. Another process that shortens the file
        // while it is mapped ends this one with a bus error, as with every program that maps its input; one that
        // rewrites it in place changes numbers, never types: every byte pattern is a valid element.
        unsafe { Mmap::map(&file) }.map(Self::Mapped)
    }
}

impl Bytes {
    /// Gives back the memory of `part`, if it lies in this mapping. The bytes stay readable: the next look at them
    /// reads the file again.
    pub(crate) fn release(&self, part: &[u8]) {
        #[cfg(unix)]
        if let Self::Mapped(map) = self {
            let start = (part.as_ptr() as usize).wrapping_sub(map.as_ptr() as usize);
            if start < map.len() && part.len() <= map.len() - start {
                // SAFETY: the mapping is shared with the file and never written through, so that dropping its
                // pages loses nothing. Failing to drop them is harmless.
                let _ = unsafe {
                    map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, part.len())
                };
            }
        }
        #[cfg(not(unix))]
        let _ = part;
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Held(bytes) => bytes,
        }
    }
}
