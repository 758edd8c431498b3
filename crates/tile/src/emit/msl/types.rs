//! Types and constants.

use crate::emit::dialect::Types;
use crate::emit::expression;
use crate::types::{Literal, Scalar, Type};

use super::Msl;

impl Types for Msl {
    fn scalar(&self, scalar: Scalar) -> &'static str {
        match scalar {
            Scalar::F32 => "float",
            Scalar::F16 => "half",
            Scalar::Bf16 => "bfloat",
            Scalar::I32 => "int",
            Scalar::U32 => "uint",
            Scalar::I8 => "char",
            Scalar::U8 => "uchar",
            Scalar::Bool => "bool",
        }
    }

    fn ty(&self, ty: Type) -> String {
        match ty {
            Type::Scalar(s) => self.scalar(s).to_owned(),
            Type::Vector(s, width) => format!("{}{}", self.scalar(s), width.count()),
            Type::Matrix(s) => format!("simdgroup_{}8x8", self.scalar(s)),
            Type::Tile => "auto".to_owned(),
        }
    }

    fn literal(&self, literal: Literal) -> String {
        match literal {
            Literal::F32(bits) => {
                let finite = expression::float(f32::from_bits(bits));
                finite.unwrap_or_else(|| format!("as_type<float>({bits:#010x}u)"))
            }
            Literal::F16(bits) | Literal::Bf16(bits) => {
                let ty = self.scalar(literal.scalar());
                match literal.as_f32().and_then(expression::float) {
                    Some(value) => format!("{ty}({value})"),
                    None => format!("as_type<{ty}>(ushort({bits:#06x}))"),
                }
            }
            Literal::I32(value) => expression::integer(value),
            Literal::U32(value) => format!("{value}u"),
            Literal::I8(value) => format!("char({value})"),
            Literal::U8(value) => format!("uchar({value})"),
            Literal::Bool(value) => value.to_string(),
        }
    }

    fn wide(&self, value: &str) -> String {
        format!("long({value})")
    }

    fn wide_literal(&self, value: u64) -> String {
        format!("{value}l")
    }

    fn splat(&self, ty: Type, value: &str) -> String {
        format!("{}({value})", self.ty(ty))
    }

    fn vectors_are_native(&self) -> bool {
        true
    }

    fn vector_at(&self, shared: bool, write: bool, ty: Type, base: &str, element: &str) -> String {
        let space = if shared { "threadgroup" } else { "device" };
        let constant = if write { "" } else { "const " };
        format!("*({space} {constant}{}*)({base} + {element})", self.ty(ty))
    }
}
