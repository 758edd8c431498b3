//! Starting kernels and taking memory.
//!
//! The kernels are this crate's own: what a call passes is what the kernel's text declares, and every address is of a
//! buffer that lives until the stream has been waited for.

use std::sync::Arc;

use cudarc::driver::sys::CUfunction_attribute;
use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DevicePtr, DeviceRepr, DriverError, LaunchConfig, PushKernelArg,
};

use crate::hopper::Chunk;
use crate::persistent::Params;
use crate::raw::overlap::TensorMap;
use crate::stages::Row;

/// An argument of a kernel.
#[derive(Clone, Debug)]
pub(crate) enum Arg {
    /// A 32-bit integer.
    U32(u32),
    /// A 64-bit integer or an address.
    U64(u64),
    /// What the persistent decoder takes.
    Params(Box<Params>),
    /// Where a matrix lies.
    Map(Box<TensorMap>),
    /// A structure of words of 8 bytes.
    Words(Box<[u64]>),
}

// SAFETY: plain integers laid out by C's rules, as the kernel's text declares them.
unsafe impl DeviceRepr for Params {}
// SAFETY: as above.
unsafe impl DeviceRepr for TensorMap {}

// SAFETY: fourteen integers of 8 bytes, twelve of 4 and one of 8: no padding, and any bits are a value.
unsafe impl bytemuck::Zeroable for Params {}
// SAFETY: as above.
unsafe impl bytemuck::Pod for Params {}
// SAFETY: integers of 8, 4 and 4 bytes: no padding, and any bits are a value.
unsafe impl bytemuck::Zeroable for Row {}
// SAFETY: as above.
unsafe impl bytemuck::Pod for Row {}
// SAFETY: integers of 8 and four times 4 bytes: no padding, and any bits are a value.
unsafe impl bytemuck::Zeroable for Chunk {}
// SAFETY: as above.
unsafe impl bytemuck::Pod for Chunk {}

/// How a kernel is started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    /// Blocks in x and y.
    pub(crate) blocks: (u32, u32),
    /// Threads of a block.
    pub(crate) threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub(crate) shared: u32,
    /// Whether all blocks must be resident together, or the launch fails.
    pub(crate) cooperative: bool,
}

/// Starts `function` on `stream`; it runs on after this returns.
pub(crate) fn launch(
    stream: &Arc<CudaStream>,
    function: &CudaFunction,
    grid: Grid,
    args: &[Arg],
) -> Result<(), DriverError> {
    let mut builder = stream.launch_builder(function);
    for arg in args {
        match arg {
            Arg::U32(value) => builder.arg(value),
            Arg::U64(value) => builder.arg(value),
            Arg::Params(value) => builder.arg(value.as_ref()),
            Arg::Map(value) => builder.arg(value.as_ref()),
            Arg::Words(value) => builder.arg(&value[0]),
        };
    }
    let config = LaunchConfig {
        grid_dim: (grid.blocks.0, grid.blocks.1, 1),
        block_dim: (grid.threads, 1, 1),
        shared_mem_bytes: grid.shared,
    };
    // SAFETY: as the head of this file says.
    unsafe { if grid.cooperative { builder.launch_cooperative(config) } else { builder.launch(config) } }?;
    Ok(())
}

/// Allows `function` so much dynamic shared memory.
pub(crate) fn allow_shared(function: &CudaFunction, bytes: u32) -> Result<(), DriverError> {
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    function.set_attribute(attribute, i32::try_from(bytes).unwrap_or(i32::MAX))
}

/// Bytes of local memory that a thread of `function` needs.
pub(crate) fn local_bytes(function: &CudaFunction) -> Result<i32, DriverError> {
    function.get_attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
}

/// Memory whose content is not yet set.
pub(crate) fn allocate(stream: &Arc<CudaStream>, bytes: usize) -> Result<CudaSlice<u8>, DriverError> {
    // SAFETY: the caller writes before it reads; any content is a valid byte.
    unsafe { stream.alloc::<u8>(bytes) }
}

/// Where `slice` lies.
pub(crate) fn address(stream: &Arc<CudaStream>, slice: &CudaSlice<u8>) -> u64 {
    slice.device_ptr(stream).0
}
