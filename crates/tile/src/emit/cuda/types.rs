//! Types and constants.

use crate::emit::expression;
use crate::types::{Literal, Scalar, Type};

pub(super) const fn scalar(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::F32 => "float",
        Scalar::F16 | Scalar::Bf16 => "unsigned short",
        Scalar::I32 => "int",
        Scalar::U32 => "unsigned int",
        Scalar::I8 => "signed char",
        Scalar::U8 => "unsigned char",
        Scalar::Bool => "bool",
    }
}

/// The stem of vector types.
const fn stem(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::F32 => "float",
        Scalar::F16 | Scalar::Bf16 => "ushort",
        Scalar::I32 => "int",
        Scalar::U32 => "uint",
        Scalar::I8 => "char",
        Scalar::U8 | Scalar::Bool => "uchar",
    }
}

pub(super) fn ty(ty: Type) -> String {
    match ty {
        Type::Scalar(s) => scalar(s).to_owned(),
        Type::Vector(s, width) => format!("{}{}", stem(s), width.count()),
        Type::Matrix(s) => format!("{}2", stem(s)),
    }
}

pub(super) fn literal(literal: Literal) -> String {
    match literal {
        Literal::F32(bits) => {
            let finite = expression::float(f32::from_bits(bits));
            finite.unwrap_or_else(|| format!("__int_as_float({:#010x})", bits))
        }
        Literal::F16(bits) | Literal::Bf16(bits) => format!("(unsigned short){bits:#06x}"),
        Literal::I32(value) => expression::integer(value),
        Literal::U32(value) => format!("{value}u"),
        Literal::I8(value) => format!("(signed char)({value})"),
        Literal::U8(value) => format!("(unsigned char)({value})"),
        Literal::Bool(value) => value.to_string(),
    }
}
