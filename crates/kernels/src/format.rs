//! How weights are stored.

use tilewright_model::StoredType;
use tilewright_tile::Scalar;

/// How a matrix of a model is stored.
///
/// GGUF's blocks keep every bit of their numbers; what a block mixes lies in [planes](Format::planes), each of one kind
/// of number, so that neighbouring lanes read neighbouring memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Numbers of a float type.
    Float(Scalar),
    /// f32 numbers whose low 16 bits are zero, two to a u32: the lossless packing (F75–F78).
    Pairs,
    /// 8-bit codes with a scale for each `group` columns of a row: `w = scale · code`.
    Int8 {
        /// Columns that share a scale, a multiple of 4; the last group of a row may have fewer.
        group: u32,
        /// The type of scales: bf16, or f16 in GGUF's blocks.
        scale: Scalar,
    },
    /// 4-bit codes from −8 to 7 as 0 to 15, eight to a u32 with the first in the low bits, and a scale for each `group`
    /// columns.
    Int4 {
        /// Columns that share a scale, a multiple of 8; the last group of a row may have fewer.
        group: u32,
        /// The type of scales: bf16, or f16 in GGUF's blocks.
        scale: Scalar,
    },
    /// GGUF's Q4_K: 4-bit codes, eight to a u32. 32 columns share two bytes, what scale and minimum are in steps; 256
    /// columns share two f16, the steps. `w = step · scale · code − least step · minimum`.
    Q4K,
    /// GGUF's Q6_K: 6-bit codes from −32 to 31 as 0 to 63, the lower four bits eight to a u32, the upper two four to a
    /// byte. 16 columns share a signed byte, the scale in steps; 256 columns share an f16, the step.
    Q6K,
}

/// One of the arrays that a matrix is stored as, row after row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plane {
    /// What its parameter is called after the matrix's name.
    pub suffix: &'static str,
    /// The type of an element.
    pub scalar: Scalar,
    /// Elements of a row of the matrix.
    pub columns: u32,
}

/// Columns that share a scale in [`Format::INT8`].
pub(crate) const INT8_GROUP: usize = 128;

/// Columns of the blocks whose scales are in steps of their own.
pub(crate) const SUPER: u32 = 256;

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
    pub const INT8: Self = Self::Int8 { group: INT8_GROUP as u32, scale: Scalar::Bf16 };
    /// 4 bits, a scale for 64 columns.
    pub const INT4: Self = Self::Int4 { group: 64, scale: Scalar::Bf16 };
    /// GGUF's Q8_0.
    pub const Q8_0: Self = Self::Int8 { group: 32, scale: Scalar::F16 };
    /// GGUF's Q4_0.
    pub const Q4_0: Self = Self::Int4 { group: 32, scale: Scalar::F16 };
    /// GGUF's Q4_K.
    pub const Q4_K: Self = Self::Q4K;
    /// GGUF's Q6_K.
    pub const Q6_K: Self = Self::Q6K;

    /// How a tensor of a GGUF file is held where blocks are kept: floats and the block types that have kernels as they are,
    /// other blocks rounded to [`Format::Q8_0`], the nearest that is wider than all of them.
    pub fn of_stored(stored: StoredType) -> Self {
        match stored {
            StoredType::F64 | StoredType::F32 => Self::F32,
            StoredType::F16 => Self::F16,
            StoredType::Bf16 => Self::PAIRS,
            StoredType::Q4_0 => Self::Q4_0,
            StoredType::Q4K => Self::Q4_K,
            StoredType::Q6K => Self::Q6_K,
            _ => Self::Q8_0,
        }
    }

    /// Whether it holds the blocks of a type as they are.
    pub fn keeps(self, stored: StoredType) -> bool {
        matches!(
            (self, stored),
            (Self::Q8_0, StoredType::Q8_0)
                | (Self::Q4_0, StoredType::Q4_0)
                | (Self::Q4_K, StoredType::Q4K)
                | (Self::Q6_K, StoredType::Q6K)
        )
    }

    /// The name used in kernel names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Float(scalar) => scalar.name(),
            Self::Pairs => "pairs",
            Self::Int8 { scale: Scalar::F16, .. } => "q8_0",
            Self::Int8 { .. } => "int8",
            Self::Int4 { scale: Scalar::F16, .. } => "q4_0",
            Self::Int4 { .. } => "int4",
            Self::Q4K => "q4_k",
            Self::Q6K => "q6_k",
        }
    }

    /// The type in which vectors (norms, biases) are stored beside such matrices.
    pub const fn vectors(self) -> Scalar {
        match self {
            Self::Float(scalar) => scalar,
            Self::Pairs => Scalar::Bf16,
            Self::Int8 { .. } | Self::Int4 { .. } | Self::Q4K | Self::Q6K => Scalar::F32,
        }
    }

    /// How many neighbouring weights of a row of `columns` a lane reads at once.
    ///
    /// Packed pairs have the step of floats, so that sums are taken in the same order and have the same bits (F76).
    pub const fn step(self, columns: u32) -> u32 {
        match self {
            Self::Float(_) if !columns.is_multiple_of(4) => 1,
            Self::Float(_) | Self::Pairs | Self::Int8 { .. } => 4,
            Self::Int4 { .. } | Self::Q4K | Self::Q6K => 8,
        }
    }

    /// What a matrix with rows of `columns` is stored as.
    pub fn planes(self, columns: u32) -> Vec<Plane> {
        let plane = |suffix, scalar, columns| Plane { suffix, scalar, columns };
        let words = |each: u32| plane("", Scalar::U32, columns / each);
        let scales = |scalar, each, group| plane("_scales", scalar, each * columns.div_ceil(group));
        let steps = |each| plane("_steps", Scalar::F16, each * columns.div_ceil(SUPER));
        match self {
            Self::Float(scalar) => vec![plane("", scalar, columns)],
            Self::Pairs => vec![words(2)],
            Self::Int8 { group, scale } => {
                vec![plane("", Scalar::I8, columns), scales(scale, 1, group)]
            }
            Self::Int4 { group, scale } => vec![words(8), scales(scale, 1, group)],
            Self::Q4K => vec![words(8), scales(Scalar::U8, 2, 32), steps(2)],
            Self::Q6K => {
                vec![words(8), plane("_tops", Scalar::U8, columns / 4), scales(Scalar::I8, 1, 16), steps(1)]
            }
        }
    }
}
