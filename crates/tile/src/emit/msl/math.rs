//! Functions and conversions.

use crate::emit::dialect::{Functions, Types};
use crate::ir::Math;
use crate::types::{Scalar, Type};

use super::Msl;

impl Functions for Msl {
    fn math(&self, math: Math, value: &str) -> String {
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

    fn extreme(&self, larger: bool, scalar: Scalar, a: &str, b: &str) -> String {
        let function = match (larger, scalar == Scalar::F32) {
            (true, true) => "fmax",
            (false, true) => "fmin",
            (true, false) => "max",
            (false, false) => "min",
        };
        format!("{function}({a}, {b})")
    }

    fn cast(&self, from: Scalar, to: Scalar, value: &str) -> String {
        let wide =
            if from.is_float() && from != Scalar::F32 { format!("float({value})") } else { value.to_owned() };
        match (from.is_float(), to) {
            (true, Scalar::I32 | Scalar::U32 | Scalar::I8 | Scalar::U8) => {
                format!("float_to_{}({wide})", self.scalar(to))
            }
            (true, Scalar::Bool) => format!("{wide} != 0.0f"),
            (true, Scalar::F16 | Scalar::Bf16) => format!("{}({wide})", self.scalar(to)),
            // A large integer is rounded to f32 first, as everywhere in the language.
            (false, Scalar::F16 | Scalar::Bf16) => format!("{}(float({value}))", self.scalar(to)),
            (_, _) => format!("{}({value})", self.scalar(to)),
        }
    }

    fn dot4(&self, a: &str, b: &str, c: &str) -> String {
        let product = |part| format!("int({a}.{part}) * int({b}.{part})");
        let sum = ["x", "y", "z", "w"].map(product).join(" + ");
        format!("int(uint({c}) + uint({sum}))")
    }

    fn fma(&self, a: &str, b: &str, c: &str) -> String {
        format!("fma({a}, {b}, {c})")
    }

    fn cast_vector(&self, from: Scalar, to: Type, value: &str) -> Option<String> {
        // Float to integer goes element by element, through the conversion that holds at the ends of the range.
        let converts = !from.is_float() || to.scalar().is_float();
        converts.then(|| format!("{}({value})", self.ty(to)))
    }

    fn bitcast(&self, _: Type, to: Type, value: &str) -> String {
        format!("as_type<{}>({value})", self.ty(to))
    }
}
