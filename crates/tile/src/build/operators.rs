//! Operators and comparisons on values.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use crate::ir::{Arithmetic, Comparison, Math, OpKind};

use super::kind::{Integer, Kind, Numeric, Word};
use super::value::{Operand, Value};

macro_rules! operator {
    ($($bound:ident: $trait:ident $method:ident $op:ident;)*) => {$(
        impl<'k, T: $bound, R: Operand<'k, T>> $trait<R> for Value<'k, T> {
            type Output = Self;

            #[track_caller]
            fn $method(self, right: R) -> Self {
                let k = self.builder();
                let right = right.value(k);
                k.emit(OpKind::Arithmetic(Arithmetic::$op, self.id(), right.id()))
            }
        }
    )*};
}

operator! {
    Numeric: Add add Add;
    Numeric: Sub sub Sub;
    Numeric: Mul mul Mul;
    Numeric: Div div Div;
    Integer: Rem rem Rem;
    Integer: Shl shl Shl;
    Integer: Shr shr Shr;
    Bits: BitAnd bitand And;
    Bits: BitOr bitor Or;
    Bits: BitXor bitxor Xor;
}

/// Types with bitwise operations: the integers and bool.
pub trait Bits: Kind {}
impl Bits for bool {}
impl Bits for i32 {}
impl Bits for u32 {}
impl Bits for super::kind::Vec2<i32> {}
impl Bits for super::kind::Vec2<u32> {}
impl Bits for super::kind::Vec4<i32> {}
impl Bits for super::kind::Vec4<u32> {}

macro_rules! constant_first {
    ($($rust:ty => $kind:ty: $($trait:ident $method:ident),*;)*) => {$($(
        impl<'k> $trait<Value<'k, $kind>> for $rust {
            type Output = Value<'k, $kind>;

            #[track_caller]
            fn $method(self, right: Value<'k, $kind>) -> Value<'k, $kind> {
                let left: Value<'k, $kind> = self.value(right.builder());
                left.$method(right)
            }
        }
    )*)*};
}

constant_first! {
    f32 => f32: Add add, Sub sub, Mul mul, Div div;
    i32 => i32: Add add, Sub sub, Mul mul, Div div;
    u32 => u32: Add add, Sub sub, Mul mul, Div div;
}

impl<T: Numeric> Neg for Value<'_, T> {
    type Output = Self;

    #[track_caller]
    fn neg(self) -> Self {
        self.builder().emit(OpKind::Math(Math::Neg, self.id()))
    }
}

impl<T: Bits> Not for Value<'_, T> {
    type Output = Self;

    #[track_caller]
    fn not(self) -> Self {
        self.builder().emit(OpKind::Math(Math::Not, self.id()))
    }
}

macro_rules! comparison {
    ($($(#[$doc:meta])* $method:ident $op:ident;)*) => {
        impl<'k, T: Word> Value<'k, T> {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(self, other: impl Operand<'k, T>) -> Value<'k, bool> {
                let k = self.builder();
                let other = other.value(k);
                k.emit(OpKind::Compare(Comparison::$op, self.id(), other.id()))
            }
        )*}
    };
}

comparison! {
    /// Whether both are equal; false for NaN.
    eq Eq;
    /// Whether they differ; true for NaN.
    ne Ne;
    /// Whether this is less; false for NaN.
    lt Lt;
    /// Whether this is less or equal; false for NaN.
    le Le;
    /// Whether this is greater; false for NaN.
    gt Gt;
    /// Whether this is greater or equal; false for NaN.
    ge Ge;
}

impl<'k> Value<'k, bool> {
    /// `yes` where this holds, else `no`.
    #[track_caller]
    pub fn select<T: Kind>(self, yes: impl Operand<'k, T>, no: impl Operand<'k, T>) -> Value<'k, T> {
        let k = self.builder();
        let (yes, no) = (yes.value(k), no.value(k));
        k.emit(OpKind::Select(self.id(), yes.id(), no.id()))
    }
}
