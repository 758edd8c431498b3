//! CUDA C++.
//!
//! Binding model: the parameters of the function are the kernel's, in order: pointers for buffers, values for scalars.
//! Shared allocations are static `__shared__` arrays. A launch uses exactly the kernel's threads along x and its
//! threadgroups as the grid. No header is included: f16 and bf16 are `unsigned short` in memory, converted by named
//! functions that are inline PTX under NVRTC and plain C++ otherwise.
//!
//! A fragment is a `float2` (or `ushort2`) a lane: lane `l` holds row `l / 4`, columns `l % 4 * 2` and the next. One
//! that crosses an edge is read element by element; scratch is not used. Its product is shuffles and fused
//! multiply-adds in the language's order, not the tensor cores', which round differently.

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
pub(super) struct Cuda;

impl Dialect for Cuda {
    fn scalar(&self, scalar: Scalar) -> &'static str {
        types::scalar(scalar)
    }

    fn ty(&self, ty: Type) -> String {
        types::ty(ty)
    }

    fn literal(&self, literal: Literal) -> String {
        types::literal(literal)
    }

    fn word(&self, to: Scalar, value: &str) -> String {
        let simple = value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if simple {
            format!("({}){value}", types::scalar(to))
        } else {
            format!("({})({value})", types::scalar(to))
        }
    }

    fn wide(&self, value: &str) -> String {
        format!("(long long)({value})")
    }

    fn wide_literal(&self, value: u64) -> String {
        format!("{value}ll")
    }

    fn math(&self, math: Math, value: &str) -> String {
        math::math(math, value)
    }

    fn extreme(&self, larger: bool, scalar: Scalar, a: &str, b: &str) -> String {
        math::extreme(larger, scalar, a, b)
    }

    fn fma(&self, a: &str, b: &str, c: &str) -> String {
        format!("fmaf({a}, {b}, {c})")
    }

    fn cast(&self, from: Scalar, to: Scalar, value: &str) -> String {
        math::cast(from, to, value)
    }

    fn cast_vector(&self, _: Scalar, _: Type, _: &str) -> Option<String> {
        None
    }

    fn bitcast(&self, from: Type, to: Type, value: &str) -> String {
        math::bitcast(from, to, value)
    }

    fn dot4(&self, a: &str, b: &str, c: &str) -> String {
        math::dot4(a, b, c)
    }

    fn compose(&self, ty: Type, parts: &[String]) -> String {
        format!("make_{}({})", types::ty(ty), parts.join(", "))
    }

    fn vectors_are_native(&self) -> bool {
        false
    }

    fn shuffle(&self, shuffle: &Shuffle, ty: Type, value: &str, lane: &str) -> String {
        lanes::shuffle(shuffle, ty, value, lane)
    }

    fn reduce(&self, reduction: Reduction, scalar: Scalar, value: &str) -> String {
        lanes::reduce(reduction, scalar, value)
    }

    fn barrier(&self, scope: Scope) -> &'static str {
        lanes::barrier(scope)
    }

    fn vector_at(&self, _: bool, write: bool, ty: Type, base: &str, element: &str) -> String {
        let constant = if write { "" } else { "const " };
        format!("*({constant}{}*)({base} + {element})", types::ty(ty))
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
