//! Element types on disk and weight formats at run time.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// Element type of a stored tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoredType {
    /// IEEE binary64 (converted checkpoints only).
    F64,
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
}

impl StoredType {
    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Self::F64 => 8,
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }
}

impl fmt::Display for StoredType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        })
    }
}

impl Serialize for StoredType {
    /// As displayed.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Format in which a device holds every matrix of the model, the head included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WeightFormat {
    /// 32-bit floats.
    F32,
    /// bfloat16, lossless for checkpoints stored so.
    Bf16,
    /// IEEE binary16, lossless for checkpoints stored so.
    F16,
    /// 8-bit symmetric integers with one scale a group along the input dimension.
    Int8,
    /// 4-bit symmetric integers with one scale a group along the input dimension.
    Int4,
}

impl WeightFormat {
    /// Every format, in the order they are documented.
    pub const ALL: [Self; 5] = [Self::F32, Self::Bf16, Self::F16, Self::Int8, Self::Int4];

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
            Self::Int8 => "int8",
            Self::Int4 => "int4",
        }
    }
}

impl fmt::Display for WeightFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for WeightFormat {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|f| f.name() == s)
            .ok_or_else(|| format!("`{s}` is not one of f32, bf16, f16, int8, int4"))
    }
}
