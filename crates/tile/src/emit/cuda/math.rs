//! Functions and conversions.

use crate::emit::dialect::{Functions, Types};
use crate::ir::Math;
use crate::types::{Scalar, Type};

use super::Cuda;

impl Functions for Cuda {
    fn math(&self, math: Math, value: &str) -> String {
        let function = match math {
            Math::Abs => "fabsf",
            Math::Floor => "floorf",
            Math::Sqrt => "__fsqrt_rn",
            Math::Rsqrt => "__frsqrt_rn",
            Math::Exp => "expf",
            Math::Exp2 => "exp2f",
            Math::Log => "logf",
            Math::Sin => "sinf",
            Math::Cos => "cosf",
            Math::Tanh => "tanhf",
            Math::FastExp => "__expf",
            Math::FastExp2 => "tile_fast_exp2",
            Math::FastSin => "__sinf",
            Math::FastCos => "__cosf",
            // Operators, printed where both languages agree.
            Math::Neg | Math::Not => "",
        };
        format!("{function}({value})")
    }

    fn extreme(&self, larger: bool, scalar: Scalar, a: &str, b: &str) -> String {
        let function = match (larger, scalar == Scalar::F32) {
            (true, true) => "fmaxf",
            (false, true) => "fminf",
            (true, false) => "max",
            (false, false) => "min",
        };
        format!("{function}({a}, {b})")
    }

    fn cast(&self, from: Scalar, to: Scalar, value: &str) -> String {
        let wide = match from {
            Scalar::F16 => format!("tile_f16_to_f32({value})"),
            Scalar::Bf16 => format!("tile_bf16_to_f32({value})"),
            _ => value.to_owned(),
        };
        let float = if from.is_float() { wide } else { format!("(float){wide}") };
        match to {
            Scalar::F32 => float,
            Scalar::F16 => format!("tile_f32_to_f16({float})"),
            Scalar::Bf16 => format!("tile_f32_to_bf16({float})"),
            Scalar::I32 if from.is_float() => format!("__float2int_rz({float})"),
            Scalar::U32 if from.is_float() => format!("__float2uint_rz({float})"),
            Scalar::I8 if from.is_float() => {
                format!("(signed char)max(-128, min(127, __float2int_rz({float})))")
            }
            Scalar::U8 if from.is_float() => {
                format!("(unsigned char)max(0, min(255, __float2int_rz({float})))")
            }
            Scalar::Bool if from.is_float() => format!("{float} != 0.0f"),
            Scalar::I32 | Scalar::U32 | Scalar::I8 | Scalar::U8 | Scalar::Bool => {
                format!("({}){value}", self.scalar(to))
            }
        }
    }

    fn bitcast(&self, from: Type, to: Type, value: &str) -> String {
        match (from, to) {
            _ if self.ty(from) == self.ty(to) => value.to_owned(),
            (Type::Scalar(Scalar::F32), Type::Scalar(Scalar::I32)) => format!("__float_as_int({value})"),
            (Type::Scalar(Scalar::F32), Type::Scalar(Scalar::U32)) => format!("__float_as_uint({value})"),
            (Type::Scalar(Scalar::I32), Type::Scalar(Scalar::F32)) => format!("__int_as_float({value})"),
            (Type::Scalar(Scalar::U32), Type::Scalar(Scalar::F32)) => format!("__uint_as_float({value})"),
            (_, _) => format!("tile_bits<{}>({value})", self.ty(to)),
        }
    }

    fn dot4(&self, a: &str, b: &str, c: &str) -> String {
        format!("__dp4a(tile_bits<int>({a}), tile_bits<int>({b}), {c})")
    }

    fn fma(&self, a: &str, b: &str, c: &str) -> String {
        format!("fmaf({a}, {b}, {c})")
    }

    fn cast_vector(&self, _: Scalar, _: Type, _: &str) -> Option<String> {
        None
    }
}
