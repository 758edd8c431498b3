//! Facts of single operations.

use crate::ir::{Arithmetic, Comparison, Kernel, Math, OpKind, Shuffle, Space, ValueId};
use crate::types::{Scalar, Type};

use super::form::{Form, Symbol, Table};
use super::span::Span;
use super::{Analysis, Fact, Integer, Varies, integer};

impl Analysis {
    /// The fact of the result `value` of an operation that is neither a loop nor without result.
    pub(super) fn evaluate(&self, kernel: &Kernel, kind: &OpKind, value: ValueId) -> Fact {
        let ty = kernel.ty(value);
        let varies = self.varies_of(kernel, kind);
        let integer = match ty {
            Type::Scalar(Scalar::I32 | Scalar::U32 | Scalar::Bool) => {
                Some(self.integer_of(kernel, kind, value, ty.scalar(), varies))
            }
            _ => None,
        };
        // A table can be more exact than the operands' dependence.
        let table = integer.as_ref().and_then(|i| i.form.known()).map(Table::varies);
        let varies = match table {
            Some((lane, simd)) => Varies { lane, simd, group: false },
            None => varies,
        };
        Fact { varies, integer }
    }

    fn varies_of(&self, kernel: &Kernel, kind: &OpKind) -> Varies {
        let of = |v: &ValueId| self.varies(*v);
        let all = kind.operands().iter().map(of).fold(Varies::NONE, Varies::join);
        match kind {
            OpKind::SimdReduce(..) => Varies { lane: false, ..all },
            OpKind::Shuffle(Shuffle::Lane(lane), _) => Varies { lane: self.varies(*lane).lane, ..all },
            OpKind::MatrixLoad { from: place, .. } | OpKind::Load(place) => {
                let view = &kernel.views[place.view];
                let limits = view.shape.iter().filter_map(|e| e.limit.as_ref()).map(of);
                let all = limits.fold(all, Varies::join);
                // Every threadgroup has its own shared memory.
                match view.space {
                    Space::Shared(_) => Varies { group: true, ..all },
                    Space::Device(_) => all,
                }
            }
            _ => all,
        }
    }

    fn integer_of(
        &self,
        kernel: &Kernel,
        kind: &OpKind,
        value: ValueId,
        scalar: Scalar,
        varies: Varies,
    ) -> Integer {
        let opaque = |span: Span| Integer {
            span,
            form: span.constant().map_or(Form::symbol(Symbol::Value(value)), Form::constant),
            wrapped: false,
        };
        let known = |v: &ValueId| self.integer(*v);
        match kind {
            OpKind::Arithmetic(op, a, b) => match (known(a), known(b)) {
                (Some(a), Some(b)) => self.arithmetic(*op, scalar, a, b, value),
                _ => opaque(integer::all(scalar)),
            },
            OpKind::Compare(op, a, b) => match (known(a), known(b)) {
                (Some(a), Some(b)) => compare(*op, a, b).unwrap_or_else(|| opaque(Span::between(0, 1))),
                _ => opaque(Span::between(0, 1)),
            },
            OpKind::Math(Math::Not, a) if scalar == Scalar::Bool => match known(a) {
                Some(a) => Integer { form: Form::constant(1).plus(&a.form, -1), ..a.clone() },
                None => opaque(Span::between(0, 1)),
            },
            OpKind::Math(Math::Neg, a) => match known(a) {
                Some(a) => {
                    let zero = Integer { span: Span::of(0), form: Form::constant(0), wrapped: false };
                    self.arithmetic(Arithmetic::Sub, scalar, &zero, a, value)
                }
                None => opaque(integer::all(scalar)),
            },
            OpKind::Math(Math::Abs, a) => match known(a) {
                Some(a) if a.span.low >= 0 => a.clone(),
                Some(a) => {
                    let (span, wrapped) = integer::fit(a.span.max(a.span.negated()).cap(0, i64::MAX), scalar);
                    Integer { wrapped: wrapped || a.wrapped, ..opaque(span) }
                }
                None => opaque(integer::all(scalar)),
            },
            OpKind::Select(condition, a, b) => match (known(condition), known(a), known(b)) {
                (Some(c), Some(a), Some(b)) => {
                    let span = match c.span.constant() {
                        Some(0) => b.span,
                        Some(_) => a.span,
                        None => a.span.join(b.span),
                    };
                    let threads = kernel.launch.threads as usize;
                    let of = |table: &Table, t: usize| table.at(t) != 0;
                    let form = c.form.known().and_then(|c| a.form.select(&b.form, |t| of(c, t), threads));
                    let wrapped = a.wrapped || b.wrapped;
                    match form {
                        Some(form) => self.close(Integer { span, form, wrapped }, value),
                        None => Integer { wrapped, ..opaque(span) },
                    }
                }
                _ => opaque(integer::all(scalar)),
            },
            OpKind::Cast(a) => match known(a) {
                Some(a) => {
                    let range = integer::all(scalar);
                    match a.span.within(range.low, range.high) {
                        true => a.clone(),
                        false => opaque(range),
                    }
                }
                None => opaque(match kernel.ty(*a).scalar() {
                    from @ (Scalar::I8 | Scalar::U8) => integer::all(from).meet(integer::all(scalar)),
                    _ => integer::all(scalar),
                }),
            },
            OpKind::SimdReduce(_, a) => match known(a) {
                // Where all lanes agree a minimum or maximum changes nothing; the span holds in any case.
                Some(a) if !matches!(kind, OpKind::SimdReduce(crate::ir::Reduction::Sum, _)) => {
                    opaque(a.span)
                }
                _ => opaque(integer::all(scalar)),
            },
            OpKind::Shuffle(_, a) => match known(a) {
                Some(a) if !varies.lane => opaque(a.span),
                Some(a) => Integer { wrapped: a.wrapped, ..opaque(a.span) },
                None => opaque(integer::all(scalar)),
            },
            _ => opaque(integer::all(scalar)),
        }
    }

    fn arithmetic(
        &self,
        op: Arithmetic,
        scalar: Scalar,
        a: &Integer,
        b: &Integer,
        value: ValueId,
    ) -> Integer {
        let (span, left) = integer::fit(integer::arithmetic(op, scalar, a.span, b.span), scalar);
        let positive = a.span.low >= 0;
        let power = |b: &Integer| b.span.constant().filter(|c| (0..32).contains(c)).map(|c| 1i64 << c);
        let mask = b.span.constant().map(|m| m.wrapping_add(1)).filter(|m| *m > 0 && m & (m - 1) == 0);
        let divide = |by: Option<i64>| a.form.divide(by?).filter(|_| positive);
        let form = match op {
            Arithmetic::Add => Some(a.form.plus(&b.form, 1)),
            Arithmetic::Sub => Some(a.form.plus(&b.form, -1)),
            Arithmetic::Mul => a.form.times(&b.form),
            Arithmetic::Shl => power(b).and_then(|by| a.form.times(&Form::constant(by))),
            Arithmetic::Div => divide(b.span.constant()).map(|(quotient, _)| quotient),
            Arithmetic::Rem => divide(b.span.constant()).map(|(_, rest)| rest),
            Arithmetic::Shr => divide(power(b)).map(|(quotient, _)| quotient),
            Arithmetic::And => divide(mask).map(|(_, rest)| rest),
            Arithmetic::Min | Arithmetic::Max | Arithmetic::Or | Arithmetic::Xor => None,
        };
        let each = || a.form.combine(&b.form, |x, y| integer::exact(op, x, y).unwrap_or(0));
        let fits = span == integer::arithmetic(op, scalar, a.span, b.span);
        let form = form.or_else(each).filter(|_| fits);
        let form = form.unwrap_or_else(|| Form::symbol(Symbol::Value(value)));
        let wrapped = integer::wraps(op, left, (a.span, a.wrapped), (b.span, b.wrapped));
        self.close(Integer { span, form, wrapped }, value)
    }

    /// Narrows the span by what the form can be.
    fn close(&self, integer: Integer, value: ValueId) -> Integer {
        if integer.form == Form::symbol(Symbol::Value(value)) {
            return integer;
        }
        let (low, high) = integer.form.threads().bounds();
        let sum = |sum: Span, (symbol, factor)| sum.plus(self.symbol_span(symbol).times(Span::of(factor)));
        let of_form = integer.form.terms().fold(Span::between(low, high), sum);
        let span = integer.span.cap(of_form.low, of_form.high);
        if span.is_empty() { integer } else { Integer { span, ..integer } }
    }
}

fn compare(op: Comparison, a: &Integer, b: &Integer) -> Option<Integer> {
    let wrapped = a.wrapped || b.wrapped;
    if let Some(result) = integer::compare(op, a.span, b.span) {
        let value = i64::from(result);
        return Some(Integer { span: Span::of(value), form: Form::constant(value), wrapped });
    }
    let difference = a.form.plus(&b.form, -1);
    let table = difference.known()?.zip(&Table::Same(0), |d, zero| i64::from(integer::holds(op, d, zero)));
    let (low, high) = table.bounds();
    Some(Integer { span: Span::between(low, high), form: Form::table(table), wrapped })
}
