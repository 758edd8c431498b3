//! Vectors of two and four.

use crate::ir::OpKind;

use super::kind::{Element, Kind, Numeric, Vec2, Vec4};
use super::state::Builder;
use super::value::{Operand, Value};

impl Builder {
    /// A vector of two.
    #[track_caller]
    pub fn vec2<'k, T: Element>(&'k self, parts: [Value<'k, T>; 2]) -> Value<'k, Vec2<T>> {
        self.emit(OpKind::Compose(parts.iter().map(|p| p.id()).collect()))
    }

    /// A vector of four.
    #[track_caller]
    pub fn vec4<'k, T: Element>(&'k self, parts: [Value<'k, T>; 4]) -> Value<'k, Vec4<T>> {
        self.emit(OpKind::Compose(parts.iter().map(|p| p.id()).collect()))
    }
}

/// A vector type.
pub trait Vector: Kind {
    /// Its element type.
    type Element: Element;
    /// How many elements.
    const COUNT: usize;
}

impl<T: Element> Vector for Vec2<T> {
    type Element = T;
    const COUNT: usize = 2;
}

impl<T: Element> Vector for Vec4<T> {
    type Element = T;
    const COUNT: usize = 4;
}

impl<'k, V: Vector> Value<'k, V> {
    /// Element `i`.
    #[track_caller]
    pub fn part(self, i: usize) -> Value<'k, V::Element> {
        let k = self.builder();
        if i >= V::COUNT {
            k.mistake(format!("a vector of {} has no element {i}", V::COUNT));
        }
        k.emit(OpKind::Extract(self.id(), i as u32))
    }

    /// All elements.
    #[track_caller]
    pub fn parts(self) -> Vec<Value<'k, V::Element>> {
        (0..V::COUNT).map(|i| self.part(i)).collect()
    }
}

impl<'k, T: Element + Numeric> Value<'k, Vec4<T>> {
    /// `(x + y) + (z + w)`: adjacent pairs, then the pairs.
    #[track_caller]
    pub fn sum_pairs(self) -> Value<'k, T> {
        (self.part(0) + self.part(1)) + (self.part(2) + self.part(3))
    }
}

impl<'k> Value<'k, Vec4<i8>> {
    /// `sum` plus the inner product with `other`, exact in 32 bits.
    #[track_caller]
    pub fn dot4(self, other: Self, sum: impl Operand<'k, i32>) -> Value<'k, i32> {
        let k = self.builder();
        let sum = sum.value(k);
        k.emit(OpKind::Dot4(self.id(), other.id(), sum.id()))
    }
}
