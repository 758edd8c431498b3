//! One GPU with one stream: memory, copies and kernels, in order.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::sys::{CUdevice_attribute as Attribute, CUevent_flags};
use cudarc::driver::{CudaContext, CudaFunction, CudaModule, CudaSlice, CudaStream};
use cudarc::nvrtc::Ptx;
use tilewright_model::Refusal;

use crate::gpu::failed;
use crate::raw::launch::{Arg, Grid, address, allocate, launch};
use crate::raw::overlap::{self, Graph, Shape};
use crate::raw::pages;

/// A GPU in use. Everything is done in the order it is asked for.
pub(crate) struct Device {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
}

/// Memory on the GPU; freed when dropped.
pub(crate) struct Buffer {
    slice: CudaSlice<u8>,
    /// Of the first byte.
    pub(crate) address: u64,
}

impl Buffer {
    /// Bytes.
    pub(crate) fn len(&self) -> usize {
        self.slice.len()
    }
}

impl Device {
    pub(crate) fn open(ordinal: usize) -> Result<Self, Refusal> {
        let context = CudaContext::new(ordinal).map_err(|e| failed("opening the GPU", e))?;
        let stream = overlap::stream(&context).map_err(|e| failed("a stream", e))?;
        Ok(Self { context, stream })
    }

    /// `bytes` bytes, all zero.
    pub(crate) fn zeros(&self, bytes: usize) -> Result<Buffer, Refusal> {
        let bytes = bytes.max(16);
        let what = format!("{bytes} bytes on the GPU");
        let mut slice = allocate(&self.stream, bytes).map_err(|e| failed(&what, e))?;
        self.stream.memset_zeros(&mut slice).map_err(|e| failed(&what, e))?;
        let address = address(&self.stream, &slice);
        Ok(Buffer { slice, address })
    }

    /// `bytes` bytes that are written before they are read.
    pub(crate) fn uninitialised(&self, bytes: usize) -> Result<Buffer, Refusal> {
        let slice =
            allocate(&self.stream, bytes).map_err(|e| failed(&format!("{bytes} bytes on the GPU"), e))?;
        let address = address(&self.stream, &slice);
        Ok(Buffer { slice, address })
    }

    /// A copy of `bytes`.
    pub(crate) fn upload(&self, bytes: &[u8]) -> Result<Buffer, Refusal> {
        let mut buffer = self.zeros(bytes.len())?;
        self.write(&mut buffer, 0, bytes)?;
        Ok(buffer)
    }

    /// Copies `bytes` to `buffer` from byte `at` on.
    pub(crate) fn write(&self, buffer: &mut Buffer, at: usize, bytes: &[u8]) -> Result<(), Refusal> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut view = buffer.slice.slice_mut(at..at + bytes.len());
        self.stream.memcpy_htod(bytes, &mut view).map_err(|e| failed("a copy to the GPU", e))
    }

    /// Makes every byte zero.
    pub(crate) fn clear(&self, buffer: &mut Buffer) -> Result<(), Refusal> {
        self.stream.memset_zeros(&mut buffer.slice).map_err(|e| failed("clearing memory", e))
    }

    /// Makes the bytes of a range zero.
    pub(crate) fn clear_part(&self, buffer: &mut Buffer, range: Range<usize>) -> Result<(), Refusal> {
        let mut view = buffer.slice.slice_mut(range);
        self.stream.memset_zeros(&mut view).map_err(|e| failed("clearing memory", e))
    }

    /// Copies from byte `at` of `buffer` on, once everything before is done.
    pub(crate) fn read(&self, buffer: &Buffer, at: usize, bytes: &mut [u8]) -> Result<(), Refusal> {
        let view = buffer.slice.slice(at..at + bytes.len());
        self.stream.memcpy_dtoh(&view, bytes).map_err(|e| failed("a copy from the GPU", e))?;
        self.wait()
    }

    /// Copies from an address where memory lies, once everything before is done.
    pub(crate) fn download(&self, address: u64, bytes: &mut [u8]) -> Result<(), Refusal> {
        pages::download(&self.stream, address, bytes).map_err(|e| failed("a copy from the GPU", e))
    }

    /// The order in which everything is done.
    pub(crate) fn stream(&self) -> Arc<CudaStream> {
        Arc::clone(&self.stream)
    }

    /// Bytes of memory that are free.
    pub(crate) fn free(&self) -> Result<u64, Refusal> {
        let (free, _) = self.context.mem_get_info().map_err(|e| failed("the GPU's memory", e))?;
        Ok(free as u64)
    }

    /// Bytes of the cache that all multiprocessors share.
    pub(crate) fn cache_bytes(&self) -> Result<u64, Refusal> {
        let bytes = self.context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
        Ok(u64::from(bytes.map_err(|e| failed("the GPU's facts", e))?.unsigned_abs()))
    }

    /// Nanoseconds, by the GPU's clock, of what `body` asks for.
    pub(crate) fn timed(&self, body: impl FnOnce() -> Result<(), Refusal>) -> Result<f64, Refusal> {
        let failed = |e| failed("timing a kernel", e);
        let mark = || self.stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).map_err(failed);
        let start = mark()?;
        body()?;
        let milliseconds = start.elapsed_ms(&mark()?).map_err(failed)?;
        Ok(f64::from(milliseconds) * 1e6)
    }

    /// Waits until everything asked for is done.
    pub(crate) fn wait(&self) -> Result<(), Refusal> {
        self.stream.synchronize().map_err(|e| failed("a kernel", e))
    }

    /// Loads machine code.
    pub(crate) fn module(&self, cubin: Vec<u8>) -> Result<Arc<CudaModule>, Refusal> {
        self.context.load_module(Ptx::from_binary(cubin)).map_err(|e| failed("loading kernels", e))
    }

    /// Starts a kernel.
    pub(crate) fn launch(&self, function: &CudaFunction, grid: Grid, args: &[Arg]) -> Result<(), Refusal> {
        launch(&self.stream, function, grid, args).map_err(|e| failed("starting a kernel", e))
    }

    /// Starts a kernel, `early`: while the one before it still runs.
    pub(crate) fn start(
        &self,
        function: &CudaFunction,
        shape: Shape,
        early: bool,
        args: &[Arg],
    ) -> Result<(), Refusal> {
        overlap::launch(&self.stream, function, shape, early, args)
            .map_err(|e| failed("starting a kernel", e))
    }

    /// Records the kernels that `body` starts.
    pub(crate) fn record(&self, body: impl FnOnce() -> Result<(), Refusal>) -> Result<Graph, Refusal> {
        Graph::record(&self.stream, body)
    }

    /// Starts what was recorded.
    pub(crate) fn replay(&self, graph: &mut Graph) -> Result<(), Refusal> {
        graph.launch().map_err(|e| failed("starting recorded kernels", e))
    }
}

/// A kernel of a module, by name.
pub(crate) fn function(module: &Arc<CudaModule>, name: &str) -> Result<CudaFunction, Refusal> {
    module.load_function(name).map_err(|e| failed(name, e))
}
