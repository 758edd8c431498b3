//! The resolved plan of a session.

use std::fmt;
use std::str::FromStr;

use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};
use tilewright_model::WeightFormat;

use crate::execution::ExecutionPlan;
use crate::numerics::Numerics;

/// The devices there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// The processor.
    Cpu,
    /// An NVIDIA GPU, by index.
    Cuda(usize),
    /// The Apple GPU.
    Metal,
    /// The kernel texts of the Apple GPU run on the processor: for developers.
    Shim,
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(n) => write!(f, "cuda:{n}"),
            Self::Metal => f.write_str("metal"),
            Self::Shim => f.write_str("shim"),
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
    /// 8-bit integers with an f32 scale for each key and each value of a head.
    Int8,
}

impl KvFormat {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::F32, Self::F16, Self::Bf16, Self::Int8];

    /// The name used in options and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Int8 => "int8",
        }
    }

    /// Bytes of the key, or of the value, of one head of `head_dim` dims.
    pub const fn head_bytes(self, head_dim: usize) -> usize {
        match self {
            Self::F32 => 4 * head_dim,
            Self::F16 | Self::Bf16 => 2 * head_dim,
            Self::Int8 => head_dim + 4,
        }
    }
}

impl fmt::Display for KvFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for KvFormat {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|format| format.name() == s);
        found.ok_or_else(|| format!("`{s}` is not one of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

/// The kernels of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// Those of an instruction set.
    Cpu {
        /// Its name.
        isa: String,
        /// Whose order of sums they take.
        numerics: Numerics,
    },
    /// Those of an NVIDIA architecture.
    Cuda {
        /// Its name.
        arch: String,
        /// Whether prompts and batches go through the matrix units of Hopper.
        hopper: bool,
        /// Whether single sequences are decoded by the persistent kernel.
        persistent: bool,
        /// Whether they are decoded in launches that overlap.
        overlap: bool,
    },
    /// Those of a staged session.
    Staged(ExecutionPlan),
}

impl fmt::Display for Kernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu { isa, numerics: Numerics::Native } => f.write_str(isa),
            Self::Cpu { isa, numerics } => write!(f, "{isa}, numerics of {numerics}"),
            Self::Cuda { arch, hopper, persistent, overlap } => {
                let rows = if *hopper { "wgmma" } else { "staged" };
                let decode = match (persistent, overlap) {
                    (true, _) => ", persistent",
                    (false, true) => ", overlapping",
                    (false, false) => "",
                };
                write!(f, "{arch}, {rows}{decode}")
            }
            Self::Staged(plan) => plan.fmt(f),
        }
    }
}

/// What was decided for a session. Nothing downstream of it reads the request.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Where the model runs.
    pub device: DeviceKind,
    /// The kernels chosen.
    pub kernels: Kernels,
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

impl Plan {
    /// Whether a token has the same bits taken in as part of a prompt and in a step of one or several sequences, so that
    /// what a reply left in the cache serves a later prompt.
    pub fn has_one_path(&self) -> bool {
        match self.kernels {
            Kernels::Cpu { .. } => true,
            Kernels::Cuda { hopper, persistent, overlap, .. } => !hopper && !persistent && !overlap,
            Kernels::Staged(_) => false,
        }
    }
}

impl Serialize for Plan {
    /// Its fields by name; what has a name of its own is that name, and `execution` has the choices of a staged session.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let execution = match &self.kernels {
            Kernels::Staged(plan) => Some(Execution(plan)),
            Kernels::Cpu { .. } | Kernels::Cuda { .. } => None,
        };
        let mut s = serializer.serialize_struct("Plan", 12)?;
        s.serialize_field("device", &self.device.to_string())?;
        s.serialize_field("kernels", &self.kernels.to_string())?;
        s.serialize_field("execution", &execution)?;
        s.serialize_field("weights", self.weights.name())?;
        s.serialize_field("kv", &self.kv.to_string())?;
        s.serialize_field("context", &self.context)?;
        s.serialize_field("prefill_chunk", &self.prefill_chunk)?;
        s.serialize_field("threads", &self.threads)?;
        s.serialize_field("weight_bytes", &self.weight_bytes)?;
        s.serialize_field("bytes_per_token", &self.bytes_per_token)?;
        s.serialize_field("kv_bytes_per_position", &self.kv_bytes_per_position)?;
        s.serialize_field("notes", &self.notes)?;
        s.end()
    }
}

/// The choices of a staged session by name.
struct Execution<'a>(&'a ExecutionPlan);

impl Serialize for Execution<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct("Execution", 4)?;
        s.serialize_field("attention", &self.0.attention().map(|attention| attention.name()))?;
        s.serialize_field("gemm", &Tiers(self.0))?;
        s.serialize_field("kv_contract", self.0.kv_contract().name())?;
        s.serialize_field("decode", self.0.decode().name())?;
        s.end()
    }
}

/// The tier of every role.
struct Tiers<'a>(&'a ExecutionPlan);

impl Serialize for Tiers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        for (role, tier) in self.0.gemm().named() {
            map.serialize_entry(role, tier.name())?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests;
