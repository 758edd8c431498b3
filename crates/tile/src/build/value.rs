//! Typed values.

use std::marker::PhantomData;

use half::{bf16, f16};

use crate::ir::{OpKind, ValueId};

use super::kind::{Element, Kind, Matrix, Numeric, Vec2, Vec4};
use super::state::Builder;

/// A value of the kernel under construction.
pub struct Value<'k, T> {
    k: &'k Builder,
    id: ValueId,
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for Value<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Value<'_, T> {}

impl<T> std::fmt::Debug for Value<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Value({:?})", self.id)
    }
}

impl<'k, T> Value<'k, T> {
    pub(super) const fn new(k: &'k Builder, id: ValueId) -> Self {
        Self { k, id, kind: PhantomData }
    }

    pub(super) const fn id(self) -> ValueId {
        self.id
    }

    pub(super) const fn builder(self) -> &'k Builder {
        self.k
    }

    /// Names the value in printed IR, in messages and in emitted text.
    pub fn named(self, name: &str) -> Self {
        self.k.edit(|kernel| kernel.defs[self.id].name = Some(name.to_owned()));
        self
    }
}

/// What may stand where a `T` is expected: a value, or a Rust constant.
///
/// A `u32` or `usize` may stand for an i32, since shapes are written that way; one beyond `i32::MAX` is a mistake.
pub trait Operand<'k, T: Kind> {
    /// The value.
    #[track_caller]
    fn value(self, k: &'k Builder) -> Value<'k, T>;
}

impl<'k, T: Kind> Operand<'k, T> for Value<'k, T> {
    fn value(self, _: &'k Builder) -> Value<'k, T> {
        self
    }
}

macro_rules! constant {
    ($($rust:ty),*) => {$(
        impl<'k> Operand<'k, $rust> for $rust {
            fn value(self, k: &'k Builder) -> Value<'k, $rust> {
                Value::new(k, k.literal_id(self.literal()))
            }
        }
    )*};
}

constant!(f32, f16, bf16, i32, u32, i8, u8, bool);

macro_rules! index_constant {
    ($($rust:ty),*) => {$(
        impl<'k> Operand<'k, i32> for $rust {
            #[track_caller]
            fn value(self, k: &'k Builder) -> Value<'k, i32> {
                let fits = i32::try_from(self).unwrap_or_else(|_| {
                    k.mistake(format!("{self} does not fit an index"));
                    0
                });
                fits.value(k)
            }
        }
    )*};
}

index_constant!(u32, usize);

macro_rules! splat {
    ($($kind:ty),*) => {$(
        impl<'k, T: Element> Operand<'k, $kind> for T
        where
            $kind: Kind,
            T: Operand<'k, T>,
        {
            #[track_caller]
            fn value(self, k: &'k Builder) -> Value<'k, $kind> {
                let one: Value<'k, T> = self.value(k);
                k.emit(OpKind::Splat(one.id))
            }
        }

        impl<'k, T: Element> Operand<'k, $kind> for Value<'k, T>
        where
            $kind: Kind,
        {
            #[track_caller]
            fn value(self, k: &'k Builder) -> Value<'k, $kind> {
                k.emit(OpKind::Splat(self.id))
            }
        }
    )*};
}

splat!(Vec2<T>, Vec4<T>);

impl<'k> Operand<'k, Matrix> for f32 {
    #[track_caller]
    fn value(self, k: &'k Builder) -> Value<'k, Matrix> {
        let one: Value<'k, f32> = self.value(k);
        k.emit(OpKind::Splat(one.id))
    }
}

impl<'k> Operand<'k, Matrix> for Value<'k, f32> {
    #[track_caller]
    fn value(self, k: &'k Builder) -> Value<'k, Matrix> {
        k.emit(OpKind::Splat(self.id))
    }
}

impl<'k, T: Numeric> Value<'k, T> {
    /// The smaller of two; a NaN loses to a number.
    #[track_caller]
    pub fn min(self, other: impl Operand<'k, T>) -> Self {
        let other = other.value(self.k);
        self.k.emit(OpKind::Arithmetic(crate::ir::Arithmetic::Min, self.id, other.id))
    }

    /// The larger of two; a NaN loses to a number.
    #[track_caller]
    pub fn max(self, other: impl Operand<'k, T>) -> Self {
        let other = other.value(self.k);
        self.k.emit(OpKind::Arithmetic(crate::ir::Arithmetic::Max, self.id, other.id))
    }

    /// No less than `low`, no more than `high`.
    #[track_caller]
    pub fn clamp(self, low: impl Operand<'k, T>, high: impl Operand<'k, T>) -> Self {
        self.max(low).min(high)
    }
}
