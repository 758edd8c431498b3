//! How weights are stored.

use tilewright_tile::Scalar;

/// How the matrices of a model are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Numbers of a float type.
    Float(Scalar),
    /// f32 numbers whose low 16 bits are zero, two to a u32: the lossless packing (F75–F78).
    Pairs,
    /// 8-bit codes with a bf16 scale for each `group` columns of a row: `w = scale · code`.
    Int8 {
        /// Columns that share a scale, a multiple of 4; the last group of a row may have fewer.
        group: u32,
    },
    /// 4-bit codes from −8 to 7 as 0 to 15, eight to a u32 with the first in the low bits, and a bf16 scale for each
    /// `group` columns.
    Int4 {
        /// Columns that share a scale, a multiple of 8; the last group of a row may have fewer.
        group: u32,
    },
}

impl Format {
    /// f32.
    pub const F32: Self = Self::Float(Scalar::F32);
    /// f16.
    pub const F16: Self = Self::Float(Scalar::F16);
    /// bf16.
    pub const BF16: Self = Self::Float(Scalar::Bf16);
    /// f32 numbers that came from bf16, two to a word.
    pub const PAIRS: Self = Self::Pairs;
    /// 8 bits, a scale for 128 columns.
    pub const INT8: Self = Self::Int8 { group: 128 };
    /// 4 bits, a scale for 64 columns.
    pub const INT4: Self = Self::Int4 { group: 64 };
    /// The type of scales.
    pub const SCALE: Scalar = Scalar::Bf16;

    /// The name used in kernel names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Float(scalar) => scalar.name(),
            Self::Pairs => "pairs",
            Self::Int8 { .. } => "int8",
            Self::Int4 { .. } => "int4",
        }
    }

    /// The type in which vectors (norms, biases) are stored beside such matrices.
    pub const fn vectors(self) -> Scalar {
        match self {
            Self::Float(scalar) => scalar,
            Self::Pairs => Scalar::Bf16,
            Self::Int8 { .. } | Self::Int4 { .. } => Scalar::F32,
        }
    }

    /// How many neighbouring weights of a row of `columns` a lane reads at once.
    ///
    /// Packed pairs have the step of floats, so that sums are taken in the same order and have the same bits (F76).
    pub const fn step(self, columns: u32) -> u32 {
        match self {
            Self::Float(_) if !columns.is_multiple_of(4) => 1,
            Self::Float(_) | Self::Pairs | Self::Int8 { .. } => 4,
            Self::Int4 { .. } => 8,
        }
    }

    /// Bytes of `elements` numbers of a matrix without their scales.
    pub(crate) const fn bytes(self, elements: u64) -> u64 {
        match self {
            Self::Float(scalar) => elements * scalar.bytes() as u64,
            Self::Pairs => elements * 2,
            Self::Int8 { .. } => elements,
            Self::Int4 { .. } => elements / 2,
        }
    }

    /// Scales of a row of `columns`.
    pub const fn scales(self, columns: u32) -> u32 {
        match self {
            Self::Float(_) | Self::Pairs => 0,
            Self::Int8 { group } | Self::Int4 { group } => columns.div_ceil(group),
        }
    }
}
