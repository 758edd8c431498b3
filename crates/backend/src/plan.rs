//! The resolved plan of a session.

use std::fmt;

use tilewright_model::WeightFormat;

/// The devices there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// The processor.
    Cpu,
    /// An NVIDIA GPU, by index.
    Cuda(usize),
    /// The Apple GPU.
    Metal,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(n) => write!(f, "cuda:{n}"),
            Self::Metal => f.write_str("metal"),
        }
    }
}

/// Element type of the KV cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KvFormat {
    /// 32-bit floats.
    F32,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
}

impl fmt::Display for KvFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        })
    }
}

/// What was decided for a session. Nothing downstream of it reads the request.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Where the model runs.
    pub device: DeviceKind,
    /// The kernels chosen, as the device names them (an instruction set, an architecture).
    pub kernels: String,
    /// Format of every matrix.
    pub weights: WeightFormat,
    /// Format of the KV cache.
    pub kv: KvFormat,
    /// Positions a sequence may hold.
    pub context: usize,
    /// Rows of one prefill chunk.
    pub prefill_chunk: usize,
    /// Worker threads (CPU).
    pub threads: usize,
    /// Bytes the weights take in `weights`.
    pub weight_bytes: u64,
    /// Weight bytes read for one decoded token.
    pub bytes_per_token: u64,
    /// KV bytes one position takes.
    pub kv_bytes_per_position: u64,
    /// Why something is not what was asked or expected, one line each.
    pub notes: Vec<String>,
}
