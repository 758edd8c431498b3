//! A named tensor as it lies in a file.

mod convert;

use crate::StoredType;

/// A view of one stored tensor. `shape` and every conversion are in logical order, `[out, in]` for a matrix, even
/// where the bytes are transposed. Bytes are little-endian and need no alignment.
#[derive(Clone, Debug)]
pub struct Tensor<'a> {
    /// The name the file gives it.
    pub name: &'a str,
    /// Logical shape: `[out, in]` for a matrix, `[n]` for a vector.
    pub shape: &'a [usize],
    /// Type of an element in `bytes`.
    pub stored: StoredType,
    /// Whether the bytes are laid out `[in, out]`.
    pub transposed: bool,
    /// The elements, `elements() * stored.size()` bytes.
    pub bytes: &'a [u8],
}

impl Tensor<'_> {
    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.bytes.len() / self.stored.size()
    }

    /// Length of a logical row: `in` of a matrix, 1 for a vector.
    pub fn row_len(&self) -> usize {
        self.shape.iter().skip(1).product()
    }

    /// Number of logical rows: `out` of a matrix, the length of a vector.
    pub fn rows(&self) -> usize {
        self.shape.first().copied().unwrap_or(1)
    }
}
