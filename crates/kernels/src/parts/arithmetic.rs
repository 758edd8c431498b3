//! Choices of arithmetic that the text of a kernel states, and elementwise functions written with them.

use tilewright_tile::{Scalar, Value};

/// How the row operations (norms, rotation) round: E71.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// A product is rounded before it is added.
    Separate,
    /// A product is added with one rounding.
    #[default]
    Fused,
}

impl Arithmetic {
    /// `sum + a·b`.
    pub fn add_product<'k>(
        self,
        sum: Value<'k, f32>,
        a: Value<'k, f32>,
        b: Value<'k, f32>,
    ) -> Value<'k, f32> {
        match self {
            Self::Separate => sum + a * b,
            Self::Fused => sum.fma(a, b),
        }
    }
}

/// Which exponential a kernel asks for: E71.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Exponential {
    /// The device's precise function.
    #[default]
    Precise,
    /// The device's fast function.
    Fast,
}

impl Exponential {
    /// e to the power `x`.
    pub fn of(self, x: Value<'_, f32>) -> Value<'_, f32> {
        match self {
            Self::Precise => x.exp(),
            Self::Fast => x.fast_exp(),
        }
    }
}

/// `x · sigmoid(x)`, from an exponential that never overflows.
pub fn silu(x: Value<'_, f32>, exponential: Exponential) -> Value<'_, f32> {
    let e = exponential.of(-x.abs());
    let sigmoid = x.ge(0.0).select(1.0 / (e + 1.0), e / (e + 1.0));
    x * sigmoid
}

/// `x` as it would be read back from memory of type `storage`.
pub fn as_stored(x: Value<'_, f32>, storage: Scalar) -> Value<'_, f32> {
    match storage {
        Scalar::F16 => x.to::<half::f16>().f32(),
        Scalar::Bf16 => x.to::<half::bf16>().f32(),
        _ => x,
    }
}
