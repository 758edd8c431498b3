//! Functions and conversions.

use crate::ir::Math;
use crate::types::Scalar;

use super::types;

pub(super) fn math(math: Math, value: &str) -> String {
    let function = match math {
        Math::Abs => "fabs",
        Math::Floor => "floor",
        Math::Sqrt => "precise::sqrt",
        Math::Rsqrt => "precise::rsqrt",
        Math::Exp => "precise::exp",
        Math::Exp2 => "precise::exp2",
        Math::Log => "precise::log",
        Math::Sin => "precise::sin",
        Math::Cos => "precise::cos",
        Math::Tanh => "precise::tanh",
        Math::FastExp => "fast::exp",
        Math::FastExp2 => "fast::exp2",
        Math::FastSin => "fast::sin",
        Math::FastCos => "fast::cos",
        // Operators, printed where both languages agree.
        Math::Neg | Math::Not => "",
    };
    format!("{function}({value})")
}

pub(super) fn extreme(larger: bool, scalar: Scalar, a: &str, b: &str) -> String {
    let function = match (larger, scalar == Scalar::F32) {
        (true, true) => "fmax",
        (false, true) => "fmin",
        (true, false) => "max",
        (false, false) => "min",
    };
    format!("{function}({a}, {b})")
}

pub(super) fn cast(from: Scalar, to: Scalar, value: &str) -> String {
    let wide =
        if from.is_float() && from != Scalar::F32 { format!("float({value})") } else { value.to_owned() };
    match (from.is_float(), to) {
        (true, Scalar::I32 | Scalar::U32 | Scalar::I8 | Scalar::U8) => {
            format!("float_to_{}({wide})", types::scalar(to))
        }
        (true, Scalar::Bool) => format!("{wide} != 0.0f"),
        (true, Scalar::F16 | Scalar::Bf16) => format!("{}({wide})", types::scalar(to)),
        // A large integer is rounded to f32 first, as everywhere in the language.
        (false, Scalar::F16 | Scalar::Bf16) => format!("{}(float({value}))", types::scalar(to)),
        (_, _) => format!("{}({value})", types::scalar(to)),
    }
}

pub(super) fn dot4(a: &str, b: &str, c: &str) -> String {
    let product = |part| format!("int({a}.{part}) * int({b}.{part})");
    let sum = ["x", "y", "z", "w"].map(product).join(" + ");
    format!("int(uint({c}) + uint({sum}))")
}
