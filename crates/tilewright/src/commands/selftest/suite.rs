//! Devices that every kernel can be run on.

use std::path::Path;

use serde_json::{Value, json};
use tilewright_engine::{DeviceRequest, WeightFormat};
use tilewright_kernels::Shape;
use tilewright_model::{Code, Refusal};

use super::Outcome;

/// A device of this build.
pub(super) enum Suite {
    #[cfg(feature = "metal")]
    Metal(tilewright_metal::Suite),
    #[cfg(feature = "cuda")]
    Cuda(tilewright_cuda::Suite),
}

/// Finds the device; the shim keeps its texts in `folder`.
pub(super) fn open(device: DeviceRequest, folder: Option<&Path>) -> Result<Suite, Refusal> {
    #[cfg(not(feature = "metal"))]
    let _ = folder;
    match device {
        #[cfg(feature = "metal")]
        DeviceRequest::Metal => {
            Ok(Suite::Metal(tilewright_metal::Suite::open(tilewright_metal::Target::Apple)?))
        }
        #[cfg(feature = "metal")]
        DeviceRequest::Shim => {
            Ok(Suite::Metal(tilewright_metal::Suite::open(tilewright_metal::Target::Shim(folder))?))
        }
        #[cfg(feature = "cuda")]
        DeviceRequest::Cuda(n) => Ok(Suite::Cuda(tilewright_cuda::Suite::open(n)?)),
        other => {
            let expected =
                "a GPU of this build (cuda, cuda:N, metal) or shim; `tilewright doctor` checks the processor";
            Err(Refusal::new(Code::DeviceOptionInvalid, "--device", expected, other))
        }
    }
}

impl Suite {
    /// What is known of the device.
    pub(super) fn facts(&self) -> Value {
        match self {
            #[cfg(feature = "metal")]
            Self::Metal(suite) => {
                let facts = suite.facts();
                json!({
                    "kind": facts.kind.to_string(),
                    "name": facts.name,
                    "memory_bytes": facts.memory,
                    "largest_buffer_bytes": facts.largest_buffer,
                    "threadgroup_memory_bytes": facts.threadgroup_memory,
                    "tensor_operations": facts.tensor_operations,
                })
            }
            #[cfg(feature = "cuda")]
            Self::Cuda(suite) => {
                let gpu = suite.gpu();
                json!({
                    "kind": DeviceRequest::Cuda(gpu.ordinal).to_string(),
                    "name": gpu.name,
                    "architecture": gpu.arch(),
                    "driver": format!("{}.{}", gpu.driver.0, gpu.driver.1),
                    "memory_bytes": gpu.memory,
                    "multiprocessors": gpu.multiprocessors,
                    "threadgroup_memory_bytes": gpu.shared_memory,
                })
            }
        }
    }

    /// Tells the outcome of every kernel at `shape` whose name contains `only`.
    pub(super) fn each(&self, shape: &Shape, only: &str, tell: &mut dyn FnMut(&str, Outcome)) {
        match self {
            #[cfg(feature = "metal")]
            Self::Metal(suite) => suite.each(shape, only, tell),
            #[cfg(feature = "cuda")]
            Self::Cuda(suite) => suite.each(shape, only, tell),
        }
    }

    /// The formats in which the device holds the model of the stories.
    pub(super) const fn stories(&self) -> [WeightFormat; 2] {
        match self {
            #[cfg(feature = "metal")]
            Self::Metal(_) => [WeightFormat::F32, WeightFormat::Int8],
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => [WeightFormat::F32, WeightFormat::Bf16],
        }
    }
}
