//! Reading little-endian values from bytes, none beyond their end.

use crate::{Code, Refusal};

/// What is left to be read.
pub(crate) struct Cursor<'a> {
    pub(super) bytes: &'a [u8],
    /// Bytes read so far.
    pub(crate) at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes that are left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// `gguf_invalid` naming `what` and its place when there are not as many.
    pub(crate) fn take(&mut self, count: usize, what: &str) -> Result<&'a [u8], Refusal> {
        if count > self.left() {
            let expected = format!("{count} bytes from byte {}", self.at);
            return Err(Refusal::new(Code::GgufInvalid, what, expected, format!("{} left", self.left())));
        }
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(crate) fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Refusal> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, what)?);
        Ok(array)
    }

    pub(crate) fn u32(&mut self, what: &str) -> Result<u32, Refusal> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, what: &str) -> Result<u64, Refusal> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A count or length that memory can hold.
    ///
    /// # Errors
    /// `gguf_invalid`.
    pub(crate) fn size(&mut self, what: &str) -> Result<usize, Refusal> {
        let size = self.u64(what)?;
        usize::try_from(size)
            .map_err(|_| Refusal::new(Code::GgufInvalid, what, "a size that can be counted", size))
    }

    /// A length, then as many bytes of text.
    ///
    /// # Errors
    /// `gguf_invalid`, also when they are not UTF-8.
    pub(crate) fn text(&mut self, what: &str) -> Result<&'a str, Refusal> {
        let length = self.size(what)?;
        let at = self.at;
        std::str::from_utf8(self.take(length, what)?)
            .map_err(|e| Refusal::new(Code::GgufInvalid, what, "UTF-8", format!("{e}, from byte {at}")))
    }
}
