//! Tensor maps, kernels that start while the one before still runs, and graphs of kernels.
//!
//! The kernels are this crate's own, as [`super::launch`] says; those started here wait themselves for the kernel before
//! them, ahead of the first use of anything it writes.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaGraph, CudaStream, DriverError, sys};
use tilewright_model::Refusal;

use crate::gpu::failed;
use crate::raw::launch::Arg;

/// What the copy engine needs to know of a matrix of bf16: its place, and the box of it that a copy takes.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorMap([u64; 16]);

/// Encodes a map of bf16 with rows of 128 bytes in a box; `dims` and `boxes` in elements with the innermost first, `strides` in
/// bytes of all dimensions but that. Elements outside are read as zero.
pub(crate) fn tensor_map<const N: usize>(
    address: u64,
    dims: [u64; N],
    strides: &[u64],
    boxes: [u32; N],
) -> Result<TensorMap, DriverError> {
    let mut map = TensorMap([0; 16]);
    let ones = [1u32; N];
    // SAFETY: every pointer is to as many values as the rank says (strides: one fewer); the map has the size and alignment of
    // the driver's, and the address is only written down.
    unsafe {
        sys::cuTensorMapEncodeTiled(
            (&raw mut map).cast(),
            sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            N as u32,
            address as *mut c_void,
            dims.as_ptr(),
            strides.as_ptr(),
            boxes.as_ptr(),
            ones.as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
            sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    }
    .result()?;
    Ok(map)
}

/// Blocks and threads of a kernel, and bytes of dynamic shared memory of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) blocks: (u32, u32, u32),
    pub(crate) threads: u32,
    pub(crate) shared: u32,
    /// Blocks of a cluster in x and y.
    pub(crate) cluster: (u32, u32),
}

impl Shape {
    /// Blocks in no cluster.
    pub(crate) fn new(blocks: (u32, u32, u32), threads: u32, shared: u32) -> Self {
        Self { blocks, threads, shared, cluster: (1, 1) }
    }
}

/// Starts `function` on `stream`, `early`: as soon as all blocks of the kernel before it have allowed that.
pub(crate) fn launch(
    stream: &Arc<CudaStream>,
    function: &CudaFunction,
    shape: Shape,
    early: bool,
    args: &[Arg],
) -> Result<(), DriverError> {
    stream.context().bind_to_thread()?;
    let mut pointers: Vec<*mut c_void> = args.iter().map(pointer).collect();
    let attribute = |id, value| sys::CUlaunchAttribute { id, pad: [0; 4], value };
    let (x, y) = shape.cluster;
    let mut attributes = Vec::new();
    // GPUs before Hopper know neither.
    if shape.cluster != (1, 1) {
        attributes.push(attribute(
            sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
            sys::CUlaunchAttributeValue {
                clusterDim: sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z: 1 },
            },
        ));
    }
    if early {
        attributes.push(attribute(
            sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        ));
    }
    let config = sys::CUlaunchConfig {
        gridDimX: shape.blocks.0,
        gridDimY: shape.blocks.1,
        gridDimZ: shape.blocks.2,
        blockDimX: shape.threads,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: shape.shared,
        hStream: stream.cu_stream(),
        attrs: attributes.as_mut_ptr(),
        numAttrs: attributes.len() as u32,
    };
    // SAFETY: arguments as the head of this file says; the driver copies them before it returns.
    unsafe {
        sys::cuLaunchKernelEx(
            &raw const config,
            function.cu_function(),
            pointers.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    }
    .result()
}

fn pointer(arg: &Arg) -> *mut c_void {
    match arg {
        Arg::U32(value) => std::ptr::from_ref(value).cast_mut().cast(),
        Arg::U64(value) => std::ptr::from_ref(value).cast_mut().cast(),
        Arg::Params(value) => std::ptr::from_ref(value.as_ref()).cast_mut().cast(),
        Arg::Map(value) => std::ptr::from_ref(value.as_ref()).cast_mut().cast(),
        Arg::Words(value) => value.as_ptr().cast_mut().cast(),
    }
}

/// Kernels recorded once and started together.
pub(crate) struct Graph(CudaGraph);

// SAFETY: the driver lets any thread use a graph, one at a time; a graph here is used through `&mut` of its owner alone.
unsafe impl Send for Graph {}

impl Graph {
    /// Records what `body` starts on `stream`.
    pub(crate) fn record(
        stream: &Arc<CudaStream>,
        body: impl FnOnce() -> Result<(), Refusal>,
    ) -> Result<Self, Refusal> {
        let failed = |e| failed("recording kernels", e);
        stream
            .begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            .map_err(failed)?;
        let recorded = body();
        let graph = stream.end_capture(sys::CUgraphInstantiate_flags(0)).map_err(failed);
        recorded?;
        graph?.map(Self).ok_or_else(|| failed(DriverError(sys::CUresult::CUDA_ERROR_INVALID_VALUE)))
    }

    pub(crate) fn launch(&mut self) -> Result<(), DriverError> {
        self.0.launch()
    }
}

/// Makes a stream of its own, which alone can be recorded. Nothing else uses the memory of this crate: there is nothing to
/// keep in step with.
pub(crate) fn stream(context: &Arc<cudarc::driver::CudaContext>) -> Result<Arc<CudaStream>, DriverError> {
    // SAFETY: one stream does all the work, so that its order is enough.
    unsafe { context.disable_event_tracking() };
    context.new_stream()
}
