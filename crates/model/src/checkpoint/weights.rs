//! The weight files together: every tensor by name, and where it lies.

use std::ops::Range;

use super::raw::Bytes;
use crate::{StoredType, Tensor};

/// Where a tensor lies.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Logical shape.
    pub(crate) shape: Vec<usize>,
    pub(crate) stored: StoredType,
    pub(crate) transposed: bool,
    /// As in [`Tensor`].
    pub(crate) interleaved: Option<usize>,
    /// Index of the file.
    pub(crate) file: usize,
    /// Bytes in the file; within it, by the reader's checks.
    pub(crate) range: Range<usize>,
}

/// A weight file.
#[derive(Debug)]
pub(crate) struct WeightFile {
    pub(crate) name: String,
    pub(crate) bytes: Bytes,
}

/// Weight files and their tensors, sorted by name.
#[derive(Debug)]
pub(crate) struct Weights {
    pub(crate) files: Vec<WeightFile>,
    pub(crate) entries: Vec<Entry>,
}

impl Weights {
    /// The view of one entry.
    pub(crate) fn tensor(&self, index: usize) -> Tensor<'_> {
        let entry = &self.entries[index];
        Tensor {
            name: &entry.name,
            shape: &entry.shape,
            stored: entry.stored,
            transposed: entry.transposed,
            interleaved: entry.interleaved,
            bytes: &self.files[entry.file].bytes[entry.range.clone()],
        }
    }
}
