//! Types and constants.

use crate::emit::dialect::Types;
use crate::emit::expression;
use crate::types::{Literal, Scalar, Type};

use super::Cuda;

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

impl Types for Cuda {
    fn scalar(&self, scalar: Scalar) -> &'static str {
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

    fn ty(&self, ty: Type) -> String {
        match ty {
            Type::Scalar(s) => self.scalar(s).to_owned(),
            Type::Vector(s, width) => format!("{}{}", stem(s), width.count()),
            Type::Matrix(s) => format!("{}2", stem(s)),
            Type::Tile => "tile_sums".to_owned(),
        }
    }

    fn literal(&self, literal: Literal) -> String {
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

    fn word(&self, to: Scalar, value: &str) -> String {
        let simple = value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if simple {
            format!("({}){value}", self.scalar(to))
        } else {
            format!("({})({value})", self.scalar(to))
        }
    }

    fn wide(&self, value: &str) -> String {
        format!("(long long)({value})")
    }

    fn wide_literal(&self, value: u64) -> String {
        format!("{value}ll")
    }

    fn compose(&self, ty: Type, parts: &[String]) -> String {
        format!("make_{}({})", self.ty(ty), parts.join(", "))
    }

    fn vectors_are_native(&self) -> bool {
        false
    }

    fn vector_at(&self, _: bool, write: bool, ty: Type, base: &str, element: &str) -> String {
        let constant = if write { "" } else { "const " };
        format!("*({constant}{}*)({base} + {element})", self.ty(ty))
    }
}
