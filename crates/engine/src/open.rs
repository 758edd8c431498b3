//! What a caller asks for when opening a model.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use tilewright_backend::execution::{Attention, Gemm};
use tilewright_backend::{Cancel, KvFormat, Numerics};
use tilewright_model::WeightFormat;

use crate::Cache;

/// Where the model comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// The small story model inside the program.
    #[default]
    Embedded,
    /// A checkpoint directory or GGUF file.
    Path(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded => f.write_str("the embedded model"),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}

/// Which device is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeviceRequest {
    /// NVIDIA GPU 0 where it can be used, else the processor, never an Apple GPU; the engine says which and why.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// An NVIDIA GPU, by index.
    Cuda(usize),
    /// The Apple GPU.
    Metal,
    /// The kernel texts of the Apple GPU run on the processor: for developers.
    Shim,
}

impl fmt::Display for DeviceRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(n) => write!(f, "cuda:{n}"),
            Self::Metal => f.write_str("metal"),
            Self::Shim => f.write_str("shim"),
        }
    }
}

impl FromStr for DeviceRequest {
    type Err = String;

    /// Reads `auto`, `cpu`, `cuda` (the first), `cuda:N`, `metal` or `shim`.
    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            "metal" => Ok(Self::Metal),
            "shim" => Ok(Self::Shim),
            _ => s
                .strip_prefix("cuda:")
                .and_then(|n| n.parse().ok())
                .map(Self::Cuda)
                .ok_or_else(|| format!("`{s}` is not one of auto, cpu, cuda, cuda:N, metal, shim")),
        }
    }
}

/// How to open a model. `None` leaves a choice to the planner; [`crate::Plan`] says what it chose.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The device.
    pub device: DeviceRequest,
    /// Format in which matrices are held.
    pub weights: Option<WeightFormat>,
    /// Element type of the KV cache.
    pub kv: Option<KvFormat>,
    /// Whose order of sums is taken; the device's own unasked. The CPU device alone has another.
    pub numerics: Option<Numerics>,
    /// Worker threads of the CPU device.
    pub threads: Option<usize>,
    /// Positions a sequence may hold, prompt and reply together.
    pub context: Option<usize>,
    /// Prompt tokens taken in one step.
    pub prefill_chunk: Option<usize>,
    /// Attention of a prompt, on the devices metal and shim.
    pub attention: Option<Attention>,
    /// Tier of the products of a prompt, on the devices metal and shim.
    pub gemm: Option<Gemm>,
    /// Where packed weights are kept between starts; those of the embedded model never are.
    pub cache: Cache,
    /// Whether text is read: then a checkpoint without a tokenizer is refused before its weights are read.
    pub needs_text: bool,
    /// Stops opening within a tensor that is loaded or a kernel that is compiled.
    pub cancel: Cancel,
}

#[cfg(test)]
mod tests;
