//! Types of values and memory.
//!
//! Arithmetic exists for `f32`, `i32` and `u32` (alone, in vectors, and for `f32` in matrix fragments). `f16`,
//! `bf16`, `i8` and `u8` are storage: they are loaded, stored, moved between lanes and cast, never computed with,
//! so no result depends on how a device rounds its narrow arithmetic.

use std::fmt;

use half::{bf16, f16};

/// Type of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scalar {
    /// IEEE binary32.
    F32,
    /// IEEE binary16, storage only.
    F16,
    /// Upper half of a binary32, storage only.
    Bf16,
    /// Two's complement 32 bits; the index type. Arithmetic wraps.
    I32,
    /// Unsigned 32 bits. Arithmetic wraps.
    U32,
    /// Two's complement 8 bits, storage only.
    I8,
    /// Unsigned 8 bits, storage only.
    U8,
    /// Truth value of a comparison; never in memory.
    Bool,
}

impl Scalar {
    /// Every scalar type.
    pub const ALL: [Self; 8] =
        [Self::F32, Self::F16, Self::Bf16, Self::I32, Self::U32, Self::I8, Self::U8, Self::Bool];

    /// Size in memory in bytes; a `bool` has none but counts as one.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::I8 | Self::U8 | Self::Bool => 1,
        }
    }

    /// Name in printed IR.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::Bool => "bool",
        }
    }

    /// f32, f16 or bf16.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F16 | Self::Bf16)
    }

    /// i32 or u32: the integers with arithmetic.
    pub const fn is_word(self) -> bool {
        matches!(self, Self::I32 | Self::U32)
    }

    /// Whether values of this type can be added and multiplied.
    pub const fn has_arithmetic(self) -> bool {
        matches!(self, Self::F32 | Self::I32 | Self::U32)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How many elements a vector has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Width {
    /// Two.
    Two,
    /// Four.
    Four,
}

impl Width {
    /// The number.
    pub const fn count(self) -> u32 {
        match self {
            Self::Two => 2,
            Self::Four => 4,
        }
    }
}

/// Type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// One element a lane.
    Scalar(Scalar),
    /// Two or four elements a lane.
    Vector(Scalar, Width),
    /// An 8×8 matrix fragment owned by one SIMD group; which lane holds which element is nobody's business.
    Matrix(Scalar),
    /// A 64×64 tile of f32 owned by the four SIMD groups of a threadgroup, likewise.
    Tile,
}

impl Type {
    /// The element type.
    pub const fn scalar(self) -> Scalar {
        match self {
            Self::Scalar(s) | Self::Vector(s, _) | Self::Matrix(s) => s,
            Self::Tile => Scalar::F32,
        }
    }

    /// Elements a lane holds: 1, 2 or 4. A fragment's 64 elements spread over 32 lanes give 2, a tile's 4,096 over 128
    /// threads 32.
    pub const fn elements(self) -> u32 {
        match self {
            Self::Scalar(_) => 1,
            Self::Vector(_, w) => w.count(),
            Self::Matrix(_) => 2,
            Self::Tile => 32,
        }
    }

    /// The same shape with another element type.
    pub const fn with_scalar(self, scalar: Scalar) -> Self {
        match self {
            Self::Scalar(_) => Self::Scalar(scalar),
            Self::Vector(_, w) => Self::Vector(scalar, w),
            Self::Matrix(_) => Self::Matrix(scalar),
            Self::Tile => Self::Tile,
        }
    }

    /// Bytes a lane holds; `None` for fragments, tiles and truth values, which have no representation.
    pub const fn bytes(self) -> Option<u32> {
        match self {
            Self::Matrix(_) | Self::Tile | Self::Scalar(Scalar::Bool) | Self::Vector(Scalar::Bool, _) => None,
            Self::Scalar(s) => Some(s.bytes()),
            Self::Vector(s, w) => Some(s.bytes() * w.count()),
        }
    }

    /// Whether this is an 8×8 fragment.
    pub const fn is_matrix(self) -> bool {
        matches!(self, Self::Matrix(_))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(s) => write!(f, "{s}"),
            Self::Vector(s, w) => write!(f, "{s}x{}", w.count()),
            Self::Matrix(s) => write!(f, "{s}x8x8"),
            Self::Tile => f.write_str("f32x64x64"),
        }
    }
}

/// A constant, kept by its bits so that `-0.0`, infinities and NaN stay what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Literal {
    /// Bits of an f32.
    F32(u32),
    /// Bits of an f16.
    F16(u16),
    /// Bits of a bf16.
    Bf16(u16),
    /// An i32.
    I32(i32),
    /// A u32.
    U32(u32),
    /// An i8.
    I8(i8),
    /// A u8.
    U8(u8),
    /// A truth value.
    Bool(bool),
}

impl Literal {
    /// The f32 `value`.
    pub const fn f32(value: f32) -> Self {
        Self::F32(value.to_bits())
    }

    /// Its type.
    pub const fn scalar(self) -> Scalar {
        match self {
            Self::F32(_) => Scalar::F32,
            Self::F16(_) => Scalar::F16,
            Self::Bf16(_) => Scalar::Bf16,
            Self::I32(_) => Scalar::I32,
            Self::U32(_) => Scalar::U32,
            Self::I8(_) => Scalar::I8,
            Self::U8(_) => Scalar::U8,
            Self::Bool(_) => Scalar::Bool,
        }
    }

    /// The bytes of a type that may be a parameter (i32, u32, f32), as devices take them; `None` for others.
    pub const fn word(self) -> Option<[u8; 4]> {
        match self {
            Self::F32(bits) | Self::U32(bits) => Some(bits.to_le_bytes()),
            Self::I32(value) => Some(value.to_le_bytes()),
            _ => None,
        }
    }

    /// Zero (or false) of a type.
    pub const fn zero(scalar: Scalar) -> Self {
        match scalar {
            Scalar::F32 => Self::F32(0),
            Scalar::F16 => Self::F16(0),
            Scalar::Bf16 => Self::Bf16(0),
            Scalar::I32 => Self::I32(0),
            Scalar::U32 => Self::U32(0),
            Scalar::I8 => Self::I8(0),
            Scalar::U8 => Self::U8(0),
            Scalar::Bool => Self::Bool(false),
        }
    }

    /// The f32 `value` rounded to a float type, nearest even; `None` for other types.
    pub fn round_f32(value: f32, to: Scalar) -> Option<Self> {
        match to {
            Scalar::F32 => Some(Self::f32(value)),
            Scalar::F16 => Some(Self::F16(f16::from_f32(value).to_bits())),
            Scalar::Bf16 => Some(Self::Bf16(bf16::from_f32(value).to_bits())),
            Scalar::I32 | Scalar::U32 | Scalar::I8 | Scalar::U8 | Scalar::Bool => None,
        }
    }

    /// The value as f32, for the float types.
    pub fn as_f32(self) -> Option<f32> {
        match self {
            Self::F32(bits) => Some(f32::from_bits(bits)),
            Self::F16(bits) => Some(f16::from_bits(bits).to_f32()),
            Self::Bf16(bits) => Some(bf16::from_bits(bits).to_f32()),
            Self::I32(_) | Self::U32(_) | Self::I8(_) | Self::U8(_) | Self::Bool(_) => None,
        }
    }

    /// The value as an integer, for the integer types.
    pub const fn as_i64(self) -> Option<i64> {
        match self {
            Self::I32(v) => Some(v as i64),
            Self::U32(v) => Some(v as i64),
            Self::I8(v) => Some(v as i64),
            Self::U8(v) => Some(v as i64),
            Self::F32(_) | Self::F16(_) | Self::Bf16(_) | Self::Bool(_) => None,
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::I32(v) => write!(f, "{v}"),
            Self::U32(v) => write!(f, "{v}u"),
            Self::I8(v) => write!(f, "{v}i8"),
            Self::U8(v) => write!(f, "{v}u8"),
            Self::Bool(v) => write!(f, "{v}"),
            Self::F32(_) | Self::F16(_) | Self::Bf16(_) => {
                let value = self.as_f32().unwrap_or(f32::NAN);
                write!(f, "{value:?}")?;
                if self.scalar() == Scalar::F32 { Ok(()) } else { write!(f, "{}", self.scalar()) }
            }
        }
    }
}
