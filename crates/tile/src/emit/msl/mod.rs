//! Metal Shading Language.
//!
//! Binding model: parameter `n` of the kernel is `[[buffer(n)]]`; scalars are read from `constant` memory. Shared
//! allocations are `threadgroup` arrays of the function. Threadgroups are dispatched with exactly the kernel's threads.
//! Fragments are `simdgroup_matrix` objects; elementwise operations go through `thread_elements()` without asking
//! which elements a lane holds. One that may cross an edge is tested as a whole and put together in scratch if so.
//!
//! `simd_sum` adds in the hardware's order, which Apple does not document.

mod lanes;
mod math;
mod matrix;
mod prelude;
mod signature;
mod types;

use crate::ir::{Math, OpId, Place, Reduction, Scope, Shuffle, ValueId};
use crate::types::{Literal, Scalar, Type};

use super::dialect::Dialect;
use super::writer::Writer;

/// The language.
pub(super) struct Msl;

impl Dialect for Msl {
    fn scalar(&self, scalar: Scalar) -> &'static str {
        types::scalar(scalar)
    }

    fn ty(&self, ty: Type) -> String {
        types::ty(ty)
    }

    fn literal(&self, literal: Literal) -> String {
        types::literal(literal)
    }

    fn wide(&self, value: &str) -> String {
        format!("long({value})")
    }

    fn wide_literal(&self, value: u64) -> String {
        format!("{value}l")
    }

    fn math(&self, math: Math, value: &str) -> String {
        math::math(math, value)
    }

    fn extreme(&self, larger: bool, scalar: Scalar, a: &str, b: &str) -> String {
        math::extreme(larger, scalar, a, b)
    }

    fn fma(&self, a: &str, b: &str, c: &str) -> String {
        format!("fma({a}, {b}, {c})")
    }

    fn cast(&self, from: Scalar, to: Scalar, value: &str) -> String {
        math::cast(from, to, value)
    }

    fn cast_vector(&self, from: Scalar, to: Type, value: &str) -> Option<String> {
        // Float to integer goes element by element, through the conversion that holds at the ends of the range.
        let converts = !from.is_float() || to.scalar().is_float();
        converts.then(|| format!("{}({value})", types::ty(to)))
    }

    fn splat(&self, ty: Type, value: &str) -> String {
        format!("{}({value})", types::ty(ty))
    }

    fn bitcast(&self, _: Type, to: Type, value: &str) -> String {
        format!("as_type<{}>({value})", types::ty(to))
    }

    fn dot4(&self, a: &str, b: &str, c: &str) -> String {
        math::dot4(a, b, c)
    }

    fn vectors_are_native(&self) -> bool {
        true
    }

    fn shuffle(&self, shuffle: &Shuffle, ty: Type, value: &str, lane: &str) -> String {
        lanes::shuffle(shuffle, ty, value, lane)
    }

    fn reduce(&self, reduction: Reduction, _: Scalar, value: &str) -> String {
        lanes::reduce(reduction, value)
    }

    fn barrier(&self, scope: Scope) -> &'static str {
        lanes::barrier(scope)
    }

    fn vector_at(&self, shared: bool, write: bool, ty: Type, base: &str, element: &str) -> String {
        let space = if shared { "threadgroup" } else { "device" };
        let constant = if write { "" } else { "const " };
        format!("*({space} {constant}{}*)({base} + {element})", types::ty(ty))
    }

    fn matrix_each(
        &self,
        out: &mut Writer<'_, Self>,
        result: ValueId,
        operands: &[ValueId],
        element: &dyn Fn(&[String]) -> String,
    ) {
        matrix::each(out, result, operands, element);
    }

    fn matrix_splat(&self, out: &mut Writer<'_, Self>, result: ValueId, value: &str) {
        matrix::splat(out, result, value);
    }

    fn matrix_load(
        &self,
        out: &mut Writer<'_, Self>,
        op: OpId,
        result: ValueId,
        from: &Place,
        transposed: bool,
    ) {
        matrix::load(out, op, result, from, transposed);
    }

    fn matrix_store(&self, out: &mut Writer<'_, Self>, op: OpId, to: &Place, value: ValueId) {
        matrix::store(out, op, to, value);
    }

    fn matrix_multiply(
        &self,
        out: &mut Writer<'_, Self>,
        result: ValueId,
        factors: [ValueId; 2],
        sum: ValueId,
    ) {
        matrix::multiply(out, result, factors, sum);
    }

    fn open(&self, out: &mut Writer<'_, Self>) {
        signature::open(out);
    }
}
