//! What differs between the languages: a trait for each file of their folders.

use crate::arena::Handle;
use crate::ir::{Math, OpId, Place, Reduction, Scope, Shuffle, ValueId, View};
use crate::types::{Literal, Scalar, Type};

use super::writer::Writer;

/// A language a kernel can be printed in.
pub(super) trait Dialect: Types + Functions + Lanes + Fragments + Tiles {
    /// What stands before the function, its signature, and the first lines of its body.
    fn open(&self, out: &mut Writer<'_, Self>);
}

/// Types, constants, vectors.
pub(super) trait Types {
    /// Name of a scalar type, as a value and in memory.
    fn scalar(&self, scalar: Scalar) -> &'static str;

    /// Name of a type.
    fn ty(&self, ty: Type) -> String;

    /// A constant.
    fn literal(&self, literal: Literal) -> String;

    /// Conversion between 32-bit integer types without change of bits: `to` is i32 or u32.
    fn word(&self, to: Scalar, value: &str) -> String {
        format!("{}({value})", self.scalar(to))
    }

    /// `value` as an integer of 64 bits.
    fn wide(&self, value: &str) -> String;

    /// A constant of 64 bits.
    fn wide_literal(&self, value: u64) -> String;

    /// A vector of these parts.
    fn compose(&self, ty: Type, parts: &[String]) -> String {
        format!("{}({})", self.ty(ty), parts.join(", "))
    }

    /// A vector of one number.
    fn splat(&self, ty: Type, value: &str) -> String {
        self.compose(ty, &vec![value.to_owned(); ty.elements() as usize])
    }

    /// Whether operators and functions work on vectors as they are.
    fn vectors_are_native(&self) -> bool;

    /// A pointer to a vector at `element` of memory.
    fn vector_at(&self, shared: bool, write: bool, ty: Type, base: &str, element: &str) -> String;
}

/// Functions and conversions.
pub(super) trait Functions {
    /// A function of one f32.
    fn math(&self, math: Math, value: &str) -> String;

    /// The smaller or larger of two.
    fn extreme(&self, larger: bool, scalar: Scalar, a: &str, b: &str) -> String;

    /// `a·b + c` rounded once.
    fn fma(&self, a: &str, b: &str, c: &str) -> String;

    /// One element converted by value.
    fn cast(&self, from: Scalar, to: Scalar, value: &str) -> String;

    /// A vector converted by value, where the language can.
    fn cast_vector(&self, from: Scalar, to: Type, value: &str) -> Option<String>;

    /// The same bits as another type.
    fn bitcast(&self, from: Type, to: Type, value: &str) -> String;

    /// `c` plus the inner product of two vectors of four i8.
    fn dot4(&self, a: &str, b: &str, c: &str) -> String;
}

/// Lanes of a SIMD group.
pub(super) trait Lanes {
    /// Another lane's value.
    fn shuffle(&self, shuffle: &Shuffle, ty: Type, value: &str, lane: &str) -> String;

    /// All lanes combined.
    fn reduce(&self, reduction: Reduction, scalar: Scalar, value: &str) -> String;

    /// A barrier statement.
    fn barrier(&self, scope: Scope) -> &'static str;
}

/// 64×64 tiles. A tile is one variable, which its products change.
pub(super) trait Tiles: Sized {
    /// Defines a tile of one number.
    fn tile_splat(&self, out: &mut Writer<'_, Self>, result: ValueId, value: &str);

    /// Adds a product of two tiles in shared memory.
    fn tile_multiply(
        &self,
        out: &mut Writer<'_, Self>,
        tile: ValueId,
        factors: [Handle<View>; 2],
        transposed: bool,
    );

    /// Writes a tile to shared memory.
    fn tile_store(&self, out: &mut Writer<'_, Self>, to: Handle<View>, value: ValueId);
}

/// 8×8 fragments.
pub(super) trait Fragments: Sized {
    /// Defines a fragment element by element; `element` makes one element of the operands' elements.
    fn matrix_each(
        &self,
        out: &mut Writer<'_, Self>,
        result: ValueId,
        operands: &[ValueId],
        element: &dyn Fn(&[String]) -> String,
    );

    /// Defines a fragment of one number.
    fn matrix_splat(&self, out: &mut Writer<'_, Self>, result: ValueId, value: &str);

    /// Defines a fragment read from memory.
    fn matrix_load(
        &self,
        out: &mut Writer<'_, Self>,
        op: OpId,
        result: ValueId,
        from: &Place,
        transposed: bool,
    );

    /// Writes a fragment to memory.
    fn matrix_store(&self, out: &mut Writer<'_, Self>, op: OpId, to: &Place, value: ValueId);

    /// Defines a fragment product.
    fn matrix_multiply(
        &self,
        out: &mut Writer<'_, Self>,
        result: ValueId,
        factors: [ValueId; 2],
        sum: ValueId,
    );
}
