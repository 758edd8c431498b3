//! Kernels of the tile language on a GPU: their CUDA text compiled, launched on the interpreter's memory.
//!
//! Made for comparing: every launch copies its buffers there and back, so that the same trial can be run here and in
//! the interpreter.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use cudarc::driver::CudaFunction;
use tilewright_model::{Code, Refusal};
use tilewright_nvrtc::Compiler;
use tilewright_tile::interp::{Bound, BufferId, Dispatch, Memory};
use tilewright_tile::ir::Param;
use tilewright_tile::{Kernel, Literal, Verified, emit};

use crate::compile::language_options;
use crate::device::{Buffer, Device, function};
use crate::gpu::find;
use crate::raw::launch::Arg;
use crate::raw::overlap::Shape;

/// A GPU that kernels of the language run on.
pub struct LanguageGpu {
    device: Device,
    compiler: Compiler,
    arch: String,
}

/// A compiled kernel.
pub struct LanguageKernel {
    kernel: Verified<Kernel>,
    function: CudaFunction,
}

impl LanguageGpu {
    /// Takes GPU `ordinal`.
    ///
    /// # Errors
    /// Those of [`find`], `nvrtc_missing`, `device_failed`.
    pub fn open(ordinal: usize) -> Result<Self, Refusal> {
        let gpu = find(ordinal)?;
        let compiler = Compiler::find(Some(gpu.driver))?;
        Ok(Self { device: Device::open(ordinal)?, compiler, arch: gpu.arch() })
    }

    /// Compiles the text of a kernel. Arithmetic is as written: nothing is contracted.
    ///
    /// # Errors
    /// `kernel_uncompilable`, `device_failed`.
    pub fn compile(&self, kernel: &Verified<Kernel>) -> Result<LanguageKernel, Refusal> {
        let options = language_options(&self.arch);
        let (cubin, _) = self.compiler.cubin(&emit::cuda(kernel), &self.arch, &options)?;
        let function = function(&self.device.module(cubin)?, kernel.name())?;
        Ok(LanguageKernel { kernel: kernel.clone(), function })
    }

    /// Runs a launch. All bytes of the buffers that the kernel writes count as written afterwards.
    ///
    /// # Errors
    /// `kernel_rejected` for a launch that does not fit the kernel, before anything runs; `device_failed`.
    pub fn run(
        &self,
        kernel: &LanguageKernel,
        memory: &mut Memory,
        dispatch: &Dispatch<'_>,
    ) -> Result<(), Refusal> {
        let LanguageKernel { kernel, function } = kernel;
        let objections = dispatch.objections(kernel, memory);
        if !objections.is_empty() {
            let reasons = objections.join("; ");
            return Err(Refusal::new(Code::KernelRejected, "launch", "one that fits the kernel", reasons)
                .at(kernel.name()));
        }
        let mut there: BTreeMap<BufferId, Buffer> = BTreeMap::new();
        let mut args = Vec::new();
        for bound in dispatch.bound {
            args.push(match bound {
                Bound::Buffer(slice) => {
                    let buffer = match there.entry(slice.buffer) {
                        Entry::Occupied(buffer) => buffer.into_mut(),
                        Entry::Vacant(none) => none.insert(self.device.upload(memory.data(slice.buffer))?),
                    };
                    Arg::U64(buffer.address + slice.offset)
                }
                Bound::Scalar(Literal::F32(bits) | Literal::U32(bits)) => Arg::U32(*bits),
                Bound::Scalar(Literal::I32(value)) => Arg::U32(value.cast_unsigned()),
                Bound::Scalar(_) => Arg::U32(0),
            });
        }
        let [x, y, z] = dispatch.groups;
        let shape = Shape::new((x, y, z), kernel.launch().threads, 0);
        self.device.start(function, shape, false, &args)?;
        self.device.wait()?;
        for (bound, param) in dispatch.bound.iter().zip(kernel.params()) {
            let (Bound::Buffer(slice), Param::Buffer(buffer)) = (bound, param) else { continue };
            if kernel.buffers()[*buffer].access.writes() {
                self.device.read(&there[&slice.buffer], 0, memory.data_mut(slice.buffer))?;
            }
        }
        Ok(())
    }
}
