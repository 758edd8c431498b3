//! Element types on disk and weight formats at run time.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// Element type of a stored tensor.
///
/// Those from [`Q8_0`](Self::Q8_0) on are GGUF's blocks: a fixed number of consecutive elements of a row share their
/// scales and are stored together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "GGUF's own names, described in `tensor/blocks.rs`")]
pub enum StoredType {
    /// IEEE binary64 (converted checkpoints only).
    F64,
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
    Q8_0,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
    Iq4Nl,
    Iq4Xs,
}

/// Every type: its name, the number GGUF gives it, elements and bytes of a block.
const TYPES: [(StoredType, &str, Option<u32>, usize, usize); 16] = [
    (StoredType::F64, "f64", None, 1, 8),
    (StoredType::F32, "f32", Some(0), 1, 4),
    (StoredType::F16, "f16", Some(1), 1, 2),
    (StoredType::Bf16, "bf16", Some(30), 1, 2),
    (StoredType::Q8_0, "q8_0", Some(8), 32, 34),
    (StoredType::Q4_0, "q4_0", Some(2), 32, 18),
    (StoredType::Q4_1, "q4_1", Some(3), 32, 20),
    (StoredType::Q5_0, "q5_0", Some(6), 32, 22),
    (StoredType::Q5_1, "q5_1", Some(7), 32, 24),
    (StoredType::Q2K, "q2_k", Some(10), 256, 84),
    (StoredType::Q3K, "q3_k", Some(11), 256, 110),
    (StoredType::Q4K, "q4_k", Some(12), 256, 144),
    (StoredType::Q5K, "q5_k", Some(13), 256, 176),
    (StoredType::Q6K, "q6_k", Some(14), 256, 210),
    (StoredType::Iq4Nl, "iq4_nl", Some(20), 32, 18),
    (StoredType::Iq4Xs, "iq4_xs", Some(23), 256, 136),
];

impl StoredType {
    /// Every type, in the order they are documented.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        TYPES.into_iter().map(|(this, ..)| this)
    }

    /// Consecutive elements of a row that are stored together: 1 for floats.
    pub const fn block_len(self) -> usize {
        TYPES[self as usize].3
    }

    /// Bytes that hold them.
    pub const fn block_bytes(self) -> usize {
        TYPES[self as usize].4
    }

    /// Whether elements are stored in blocks with scales.
    pub fn is_block(self) -> bool {
        self.block_len() > 1
    }

    /// Whether GPU kernels multiply with its blocks as they are stored. The processor does with those of every type.
    pub fn is_read_by_kernels(self) -> bool {
        matches!(self, Self::Q8_0 | Self::Q4_0 | Self::Q4K | Self::Q6K)
    }

    /// Bytes of `elements` elements, a whole number of blocks.
    pub fn bytes(self, elements: usize) -> usize {
        elements / self.block_len() * self.block_bytes()
    }

    /// The number that stands for the type in a GGUF file.
    pub fn gguf_number(self) -> Option<u32> {
        TYPES[self as usize].2
    }

    /// The type of a number in a GGUF file.
    pub fn of_gguf_number(number: u32) -> Option<Self> {
        TYPES.into_iter().find(|row| row.2 == Some(number)).map(|row| row.0)
    }

    /// The name used in reports.
    pub fn name(self) -> &'static str {
        TYPES[self as usize].1
    }
}

impl fmt::Display for StoredType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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
    /// GGUF's blocks as they are stored, each tensor in its own type.
    Gguf,
}

impl WeightFormat {
    /// Every format, in the order they are documented.
    pub const ALL: [Self; 6] = [Self::F32, Self::Bf16, Self::F16, Self::Int8, Self::Int4, Self::Gguf];

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
            Self::Int8 => "int8",
            Self::Int4 => "int4",
            Self::Gguf => "gguf",
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
            .ok_or_else(|| format!("`{s}` is not one of f32, bf16, f16, int8, int4, gguf"))
    }
}

#[cfg(test)]
mod tests;
