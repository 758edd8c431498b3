//! The forward pass.

use std::rc::Rc;

use crate::ir::{Block, Builtin, Kernel, Loop, OpId, OpKind, Origin, ValueId};
use crate::types::{Scalar, Type};

use super::form::{Form, Symbol, Table};
use super::span::Span;
use super::{Analysis, Context, Fact, Integer, Varies, integer};

/// After so many passes over a loop its moving intervals are opened to the end of the type.
const PATIENCE: usize = 2;

pub(super) fn run(kernel: &Kernel) -> Analysis {
    let mut analysis = Analysis {
        facts: vec![None; kernel.defs.len()],
        contexts: vec![None; kernel.ops.len()],
        passes: vec![0; kernel.ops.len()],
    };
    let threads = kernel.launch.threads as usize;
    for (id, def) in kernel.defs.iter() {
        let symbol = |span: Span, varies: Varies| {
            let form = span.constant().map_or(Form::symbol(Symbol::Value(id)), Form::constant);
            Fact { varies, integer: Some(Integer { span, form, wrapped: false }) }
        };
        let table = |of: &dyn Fn(usize) -> usize| {
            let table = Table::from_threads(threads, |t| of(t) as i64);
            let ((low, high), (lane, simd)) = (table.bounds(), table.varies());
            let integer =
                Integer { span: Span::between(low, high), form: Form::table(table), wrapped: false };
            Fact { varies: Varies { lane, simd, group: false }, integer: Some(integer) }
        };
        let plain = Fact { varies: Varies::NONE, integer: None };
        let fact = match def.origin {
            Origin::Literal(crate::types::Literal::Bool(b)) => symbol(Span::of(i64::from(b)), Varies::NONE),
            Origin::Literal(literal) => match literal.as_i64() {
                Some(value) => symbol(Span::of(value), Varies::NONE),
                None => plain,
            },
            Origin::Builtin(Builtin::Group(axis)) => {
                let groups = i64::from(kernel.launch.groups[usize::from(axis.min(2))]);
                symbol(Span::between(0, (groups - 1).max(0)), Varies::GROUP)
            }
            Origin::Builtin(Builtin::Thread) => table(&|t| t),
            Origin::Builtin(Builtin::Lane) => table(&|t| t % 32),
            Origin::Builtin(Builtin::SimdGroup) => table(&|t| t / 32),
            Origin::Argument(a) => match kernel.arguments[a].scalar.is_word() {
                true => {
                    let (low, high) = kernel.arguments[a].range;
                    symbol(Span::between(low, high), Varies::NONE)
                }
                false => plain,
            },
            Origin::Result(..) | Origin::Index(_) | Origin::Carried(..) => continue,
        };
        analysis.facts[id.index()] = Some(fact);
    }
    analysis.block(kernel, &kernel.body, &Rc::new(Context::default()));
    analysis
}

impl Analysis {
    fn block(&mut self, kernel: &Kernel, block: &Block, context: &Rc<Context>) {
        for &id in block {
            self.contexts[id.index()] = Some(Rc::clone(context));
            let op = &kernel.ops[id];
            match &op.kind {
                OpKind::Loop(l) => self.repeat(kernel, id, l, context),
                OpKind::When(condition, body) => {
                    let mut inner = (**context).clone();
                    inner.control = inner.control.join(self.varies(*condition));
                    inner.conditions.push(*condition);
                    self.block(kernel, body, &Rc::new(inner));
                }
                kind => {
                    for &result in &op.results {
                        let fact = self.evaluate(kernel, kind, result);
                        self.facts[result.index()] = Some(fact);
                    }
                }
            }
        }
    }

    fn repeat(&mut self, kernel: &Kernel, id: OpId, l: &Loop, context: &Rc<Context>) {
        let bounds = self.varies(l.start).join(self.varies(l.end));
        let mut inner = (**context).clone();
        inner.control = inner.control.join(bounds);
        inner.loops.push(id);
        let inner = Rc::new(inner);

        self.index(id, l);
        for (&carried, &init) in l.carried.iter().zip(&l.init) {
            let fact = opaque(kernel, carried, self.fact(init).clone());
            self.facts[carried.index()] = Some(fact);
        }
        for pass in 0.. {
            self.block(kernel, &l.body, &inner);
            let mut moved = false;
            for (&carried, &yielded) in l.carried.iter().zip(&l.yields) {
                let before = self.fact(carried).clone();
                let joined = join(&before, self.fact(yielded));
                let after = opaque(kernel, carried, joined);
                if after != before {
                    let after =
                        if pass >= PATIENCE { widen(kernel.ty(carried), after, &before) } else { after };
                    self.facts[carried.index()] = Some(after);
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        let results = &kernel.ops[id].results;
        for (&result, &carried) in results.iter().zip(&l.carried) {
            let mut fact = opaque(kernel, result, self.fact(carried).clone());
            fact.varies = fact.varies.join(bounds);
            self.facts[result.index()] = Some(fact);
        }
    }

    /// The index of a loop: between its bounds, a multiple of the step from its start.
    fn index(&mut self, id: OpId, l: &Loop) {
        let of = |v: ValueId| self.integer(v).cloned();
        let (Some(start), Some(end)) = (of(l.start), of(l.end)) else { return };
        let step = i64::from(l.step);
        let last = end.span.high - if l.whole { step } else { 1 };
        let passes = if last < start.span.low { 0 } else { (last - start.span.low) / step + 1 };
        self.passes[id.index()] = passes;
        let steps = Span::every(step, 0, 0, (passes - 1).max(0).saturating_mul(step));
        let span = start.span.plus(steps).cap(start.span.low, last);
        let form = start.form.plus(&Form::symbol(Symbol::Counter(id)), step);
        // The index after the last pass must still be an i32, and so must the end less the step that a whole pass
        // is compared with.
        let leaves = last.saturating_add(step) > i64::from(i32::MAX)
            || l.whole && end.span.low - step < i64::from(i32::MIN);
        let wrapped = start.wrapped || end.wrapped || leaves;
        let varies = self.varies(l.start);
        self.facts[l.index.index()] = Some(Fact { varies, integer: Some(Integer { span, form, wrapped }) });
    }
}

/// The same fact with `value` itself as its form: what a loop carries is no sum of anything.
fn opaque(kernel: &Kernel, value: ValueId, fact: Fact) -> Fact {
    let carries = matches!(kernel.ty(value), Type::Scalar(Scalar::I32 | Scalar::U32 | Scalar::Bool));
    let integer = fact.integer.filter(|_| carries);
    Fact { integer: integer.map(|i| Integer { form: Form::symbol(Symbol::Value(value)), ..i }), ..fact }
}

fn join(a: &Fact, b: &Fact) -> Fact {
    let integer = match (&a.integer, &b.integer) {
        (Some(a), Some(b)) => {
            Some(Integer { span: a.span.join(b.span), form: a.form.clone(), wrapped: a.wrapped || b.wrapped })
        }
        _ => None,
    };
    Fact { varies: a.varies.join(b.varies), integer }
}

fn widen(ty: Type, after: Fact, before: &Fact) -> Fact {
    let range = integer::all(ty.scalar());
    let (Some(a), Some(b)) = (&after.integer, &before.integer) else { return after };
    let low = if a.span.low < b.span.low { range.low } else { a.span.low };
    let high = if a.span.high > b.span.high { range.high } else { a.span.high };
    let span = if a.span.low == b.span.low && a.span.high == b.span.high {
        // Only the remainder moved: give it up.
        Span::between(low, high)
    } else {
        a.span.join(Span::between(low, high))
    };
    Fact { integer: Some(Integer { span, ..a.clone() }), ..after }
}
