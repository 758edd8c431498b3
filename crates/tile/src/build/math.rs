//! Functions of one value, the fused product, and conversions.

use crate::ir::{Math, OpKind};

use super::kind::{Kind, Matrix, Numeric, Real, Vec2, Vec4};
use super::value::{Operand, Value};
use crate::build::kind::Element;

macro_rules! function {
    ($($(#[$doc:meta])* $method:ident $op:ident;)*) => {
        impl<T: Real> Value<'_, T> {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(self) -> Self {
                self.builder().emit(OpKind::Math(Math::$op, self.id()))
            }
        )*}
    };
}

function! {
    /// Largest integer not above.
    floor Floor;
    /// Square root, correctly rounded.
    sqrt Sqrt;
    /// One over the square root, precise.
    rsqrt Rsqrt;
    /// e to this power.
    exp Exp;
    /// Two to this power.
    exp2 Exp2;
    /// Natural logarithm.
    log Log;
    /// Sine.
    sin Sin;
    /// Cosine.
    cos Cos;
    /// Hyperbolic tangent.
    tanh Tanh;
    /// e to this power by the device's fast function; listed in the report.
    fast_exp FastExp;
    /// Two to this power by the device's fast function; listed in the report.
    fast_exp2 FastExp2;
    /// Sine by the device's fast function; listed in the report.
    fast_sin FastSin;
    /// Cosine by the device's fast function; listed in the report.
    fast_cos FastCos;
}

impl<T: Numeric> Value<'_, T> {
    /// Magnitude.
    #[track_caller]
    pub fn abs(self) -> Self {
        self.builder().emit(OpKind::Math(Math::Abs, self.id()))
    }
}

impl<'k, T: Real> Value<'k, T> {
    /// `a·b + self` with one rounding: how a sum grows by a product.
    #[track_caller]
    pub fn fma(self, a: impl Operand<'k, T>, b: impl Operand<'k, T>) -> Self {
        let k = self.builder();
        let (a, b) = (a.value(k), b.value(k));
        k.emit(OpKind::Fma(a.id(), b.id(), self.id()))
    }
}

/// Types whose numeric value converts to a `U`, element by element.
pub trait Converts<U>: Kind {}

impl<T: Element, U: Element> Converts<U> for T {}
impl<T: Element, U: Element> Converts<Vec2<U>> for Vec2<T> {}
impl<T: Element, U: Element> Converts<Vec4<U>> for Vec4<T> {}

impl<'k, T: Kind> Value<'k, T> {
    /// The numeric value as a `U`: rounded to nearest even towards a narrower float, truncated towards zero and
    /// held at the ends of the range towards an integer.
    #[track_caller]
    pub fn to<U: Kind>(self) -> Value<'k, U>
    where
        T: Converts<U>,
    {
        if T::TYPE == U::TYPE {
            return Value::new(self.builder(), self.id());
        }
        self.builder().emit(OpKind::Cast(self.id()))
    }

    /// The same bits as a `U`; the sizes must be equal.
    #[track_caller]
    pub fn bitcast<U: Kind>(self) -> Value<'k, U> {
        let k = self.builder();
        if T::TYPE.bytes().is_none() || T::TYPE.bytes() != U::TYPE.bytes() {
            k.mistake(format!("a bitcast from {} to {} changes the size", T::TYPE, U::TYPE));
        }
        k.emit(OpKind::Bitcast(self.id()))
    }
}

impl<'k, T: Element> Value<'k, T> {
    /// As f32.
    #[track_caller]
    pub fn f32(self) -> Value<'k, f32> {
        self.to()
    }

    /// As i32.
    #[track_caller]
    pub fn i32(self) -> Value<'k, i32> {
        self.to()
    }

    /// As u32.
    #[track_caller]
    pub fn u32(self) -> Value<'k, u32> {
        self.to()
    }
}

impl<'k> Value<'k, Matrix> {
    /// Every element times one number, which must be the same in all lanes of the SIMD group.
    #[track_caller]
    pub fn scale(self, by: impl Operand<'k, f32>) -> Self {
        let k = self.builder();
        let by = by.value(k);
        let splat: Self = k.emit(OpKind::Splat(by.id()));
        self * splat
    }
}
