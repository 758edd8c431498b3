//! The NVIDIA device, where this build has it: everything else asks here, so that nothing else depends on the build.

#[cfg(feature = "cuda")]
mod present {
    use tilewright_backend::{Plan, Resident, Watch};
    use tilewright_cuda::{Compiler, CudaOptions};
    use tilewright_model::{Checkpoint, Config, Parameters, Refusal, StoredType};

    use crate::OpenOptions;

    /// The name of GPU `n`, when kernels can be compiled for it and run on it.
    pub(crate) fn find(n: usize) -> Result<String, Refusal> {
        let gpu = tilewright_cuda::find(n)?;
        Compiler::find(Some(gpu.driver))?;
        Ok(gpu.name)
    }

    fn options(n: usize, options: &OpenOptions) -> CudaOptions {
        CudaOptions {
            ordinal: n,
            weights: options.weights,
            kv: options.kv,
            context: options.context,
            prefill_chunk: options.prefill_chunk,
            ..CudaOptions::default()
        }
    }

    pub(crate) fn resolve_plan(
        n: usize,
        config: &Config,
        stored: &Parameters<StoredType>,
        open: &OpenOptions,
    ) -> Result<Plan, Refusal> {
        tilewright_cuda::resolve_plan(config, stored, &options(n, open), &tilewright_cuda::find(n)?)
    }

    pub(crate) fn open(
        n: usize,
        checkpoint: &Checkpoint,
        open: &OpenOptions,
        progress: &mut Watch<'_>,
    ) -> Result<Box<dyn Resident>, Refusal> {
        tilewright_cuda::open(checkpoint, &options(n, open), progress)
    }
}

#[cfg(not(feature = "cuda"))]
mod absent {
    use tilewright_backend::{DeviceKind, Plan, Resident, Watch};
    use tilewright_model::{Checkpoint, Code, Config, Parameters, Refusal, StoredType};

    use crate::OpenOptions;

    fn refusal(n: usize) -> Refusal {
        let expected = "a device of this build (cpu; NVIDIA GPUs are left out)";
        Refusal::new(Code::DeviceUnavailable, "device", expected, DeviceKind::Cuda(n))
    }

    pub(crate) fn find(n: usize) -> Result<String, Refusal> {
        Err(refusal(n))
    }

    pub(crate) fn resolve_plan(
        n: usize,
        _: &Config,
        _: &Parameters<StoredType>,
        _: &OpenOptions,
    ) -> Result<Plan, Refusal> {
        Err(refusal(n))
    }

    pub(crate) fn open(
        n: usize,
        _: &Checkpoint,
        _: &OpenOptions,
        _: &mut Watch<'_>,
    ) -> Result<Box<dyn Resident>, Refusal> {
        Err(refusal(n))
    }
}

#[cfg(not(feature = "cuda"))]
pub(crate) use absent::{find, open, resolve_plan};
#[cfg(feature = "cuda")]
pub(crate) use present::{find, open, resolve_plan};
