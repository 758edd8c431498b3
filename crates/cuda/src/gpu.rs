//! What a GPU is, and everything that can be wrong before it is used.

use cudarc::driver::{CudaContext, DriverError, result, sys};
use tilewright_model::{Code, Refusal};

use crate::raw::{driver, pages};

/// The oldest driver whose functions are called.
const OLDEST_DRIVER: (u32, u32) = tilewright_backend::support::LEAST_CUDA_DRIVER;
/// The oldest compute capability that kernels are made for: the first with these matrix instructions and
/// independent threads.
const OLDEST_GPU: (u32, u32) = tilewright_backend::support::LEAST_CUDA_CAPABILITY;

/// Facts of one GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Its index.
    pub ordinal: usize,
    /// As the driver names it.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: usize,
    /// Most bytes of shared memory a block can have.
    pub shared_memory: usize,
    /// Bytes of memory in all.
    pub memory: u64,
    /// Bytes of memory free now.
    pub free: u64,
    /// What pieces of memory that addresses can be given to are multiples of, in bytes; `None` where there are no such.
    pub granularity: Option<u64>,
    /// The newest CUDA that the driver serves.
    pub driver: (u32, u32),
}

impl Gpu {
    /// The architecture kernels are compiled for, with the instructions of this one alone where there are such.
    pub fn arch(&self) -> String {
        let (major, minor) = self.capability;
        let own = if major >= 9 { "a" } else { "" };
        format!("sm_{major}{minor}{own}")
    }
}

/// What can be wrong with a driver, from what it says of itself.
fn check_driver(version: Option<(u32, u32)>) -> Result<(u32, u32), Refusal> {
    let (oldest_major, oldest_minor) = OLDEST_DRIVER;
    let expected = format!("one that serves CUDA {oldest_major}.{oldest_minor}");
    match version {
        Some(version) if version >= OLDEST_DRIVER => Ok(version),
        Some((major, minor)) => Err(Refusal::new(
            Code::CudaDriverTooOld,
            "NVIDIA driver",
            expected,
            format!("one that serves CUDA {major}.{minor} at most"),
        )),
        None => {
            Err(Refusal::new(Code::CudaDriverMissing, "NVIDIA driver", expected, "one that does not answer"))
        }
    }
}

/// What can be wrong with a GPU, from its capability.
fn check_capability(name: &str, capability: (u32, u32)) -> Result<(), Refusal> {
    if capability >= OLDEST_GPU {
        return Ok(());
    }
    Err(Refusal::new(
        Code::GpuTooOld,
        name,
        format!("compute capability {}.{} or newer", OLDEST_GPU.0, OLDEST_GPU.1),
        format!("{}.{}", capability.0, capability.1),
    ))
}

/// The driver's version, once its library is found and new enough.
fn driver_version() -> Result<(u32, u32), Refusal> {
    if !driver::present() {
        let expected = "the driver's library (libcuda.so.1, nvcuda.dll)";
        return Err(Refusal::new(Code::CudaDriverMissing, "NVIDIA driver", expected, "none"));
    }
    check_driver(driver::version())
}

/// Number of GPUs that the driver shows.
///
/// # Errors
/// `cuda_driver_missing`, `cuda_driver_too_old`, `device_unavailable`.
pub fn count() -> Result<usize, Refusal> {
    driver_version()?;
    let unavailable = |e: DriverError| {
        Refusal::new(Code::DeviceUnavailable, "NVIDIA GPU", "a driver that finds one", describe(e))
    };
    result::init().map_err(unavailable)?;
    let count = result::device::get_count().map_err(unavailable)?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// The facts of GPU `ordinal`.
///
/// # Errors
/// `cuda_driver_missing`, `cuda_driver_too_old`, `device_unavailable` when there is no such GPU or the driver fails,
/// `gpu_too_old`.
pub fn find(ordinal: usize) -> Result<Gpu, Refusal> {
    let driver = driver_version()?;
    let count = count()?;
    if ordinal >= count {
        let expected = match count {
            0 => "an NVIDIA GPU".to_owned(),
            1 => "cuda:0, the only one".to_owned(),
            n => format!("cuda:0 to cuda:{}", n - 1),
        };
        let got = if count == 0 { "none".to_owned() } else { format!("cuda:{ordinal}") };
        return Err(Refusal::new(Code::DeviceUnavailable, "device", expected, got));
    }
    let gpu = facts(ordinal, driver).map_err(|e| failed("the GPU's facts", e))?;
    check_capability(&gpu.name, gpu.capability)?;
    Ok(gpu)
}

fn facts(ordinal: usize, driver: (u32, u32)) -> Result<Gpu, DriverError> {
    use sys::CUdevice_attribute as Attribute;
    let context = CudaContext::new(ordinal)?;
    let (free, memory) = context.mem_get_info()?;
    let (major, minor) = context.compute_capability()?;
    let attribute =
        |a| -> Result<usize, DriverError> { Ok(usize::try_from(context.attribute(a)?).unwrap_or(0)) };
    Ok(Gpu {
        ordinal,
        name: context.name()?,
        capability: (major.unsigned_abs(), minor.unsigned_abs()),
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        shared_memory: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        memory: memory as u64,
        free: free as u64,
        granularity: pages::granularity(&context, ordinal)?,
        driver,
    })
}

/// A call of the driver that failed.
pub(crate) fn failed(what: &str, error: DriverError) -> Refusal {
    Refusal::new(code(error), what, "a call that succeeds", describe(error))
}

fn code(error: DriverError) -> Code {
    match error.0 {
        sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Code::OutOfMemory,
        _ => Code::DeviceFailed,
    }
}

/// The driver's name and words for an error.
pub(crate) fn describe(error: DriverError) -> String {
    let name = error.error_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let text = error.error_string().map(|t| t.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{name} ({text})")
}

#[cfg(test)]
mod tests;
