//! Pages as the driver gives them.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DriverError};
use tilewright_model::Refusal;

use super::pool::Mapping;
use crate::device::Device;
use crate::gpu::failed;
use crate::raw::pages::{Piece, Range};

/// Memory of a GPU in pages of one size.
pub(crate) struct Memory {
    stream: Arc<CudaStream>,
    bytes: usize,
}

impl Memory {
    pub(crate) fn new(device: &Device, bytes: usize) -> Self {
        Self { stream: device.stream(), bytes }
    }
}

fn page(error: DriverError) -> Refusal {
    failed("a page of keys and values", error)
}

impl Mapping for Memory {
    type Page = Piece;
    type Range = Range;

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn page(&self) -> Result<Piece, Refusal> {
        Piece::new(self.stream.context(), self.bytes).map_err(page)
    }

    fn range(&self, pages: usize) -> Result<Range, Refusal> {
        Range::new(self.stream.context(), self.bytes, pages)
            .map_err(|e| failed("addresses of keys and values", e))
    }

    fn map(&self, range: &mut Range, at: usize, piece: &Piece) -> Result<(), Refusal> {
        range.map(at, piece).map_err(page)
    }

    fn unmap(&self, range: &mut Range, at: usize) {
        range.unmap(at);
    }

    fn clear(&self, piece: &Piece) -> Result<(), Refusal> {
        piece.clear(&self.stream).map_err(page)
    }

    fn copy(&self, piece: &Piece, from: &Piece) -> Result<(), Refusal> {
        piece.copy(from, &self.stream).map_err(page)
    }

    fn wait(&self) -> Result<(), Refusal> {
        self.stream.synchronize().map_err(|e| failed("a kernel", e))
    }
}
