//! A named tensor as it lies in a file.

mod blocks;
mod convert;

pub use blocks::Block;

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
    /// Where rows go by heads of this width and each head's two halves are stored in turns: row 0 of the first half,
    /// row 0 of the second, row 1 of the first. So GGUF keeps the queries and keys of the Llama architecture, which it
    /// rotates in pairs of neighbours.
    pub interleaved: Option<usize>,
    /// The elements, `stored.bytes(elements())` bytes.
    pub bytes: &'a [u8],
}

impl Tensor<'_> {
    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.bytes.len() / self.stored.block_bytes() * self.stored.block_len()
    }

    /// Length of a logical row: `in` of a matrix, 1 for a vector.
    pub fn row_len(&self) -> usize {
        self.shape.iter().skip(1).product()
    }

    /// Number of logical rows: `out` of a matrix, the length of a vector.
    pub fn rows(&self) -> usize {
        self.shape.first().copied().unwrap_or(1)
    }

    /// Whether the bytes are the logical rows one after the other.
    pub fn is_row_major(&self) -> bool {
        !self.transposed && self.interleaved.is_none()
    }

    /// Where logical row `row` is stored.
    pub fn stored_row(&self, row: usize) -> usize {
        match self.interleaved {
            None => row,
            Some(head) => {
                let (start, within) = (row / head * head, row % head);
                start + within % (head / 2) * 2 + within / (head / 2)
            }
        }
    }

    /// The bytes of logical row `row`, where the tensor is stored by rows.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn row_bytes(&self, row: usize) -> &[u8] {
        let size = self.stored.bytes(self.row_len());
        &self.bytes[self.stored_row(row) * size..][..size]
    }
}
