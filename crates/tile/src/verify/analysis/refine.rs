//! What is known of a value where conditions hold.
//!
//! The forward pass keeps one fact for each value. Under `when row < rows` more is known of `row`, and of what was
//! computed from it before; so the value is evaluated again from its definition, with the comparisons in force.

use std::collections::BTreeMap;

use crate::ir::{Arithmetic, Comparison, Kernel, Math, OpKind, Origin, ValueId};
use crate::types::{Scalar, Type};

use super::span::Span;
use super::{Analysis, integer};

/// A value stays at or below `value + slack`, where `value` is known only when the kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounded {
    /// The run-time value.
    pub value: ValueId,
    /// How far above it; negative for below.
    pub slack: i64,
}

/// What conditions say of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Refined {
    /// What it can be.
    pub span: Span,
    /// Whether it may have wrapped on the way.
    pub wrapped: bool,
    /// Run-time values it stays below.
    pub below: Vec<Bounded>,
}

/// Evaluates values under conditions.
struct Evaluator<'a> {
    analysis: &'a Analysis,
    kernel: &'a Kernel,
    limits: BTreeMap<ValueId, (Span, Vec<Bounded>)>,
    known: BTreeMap<ValueId, Refined>,
}

impl Analysis {
    /// What is known of `value` where all of `conditions` hold.
    pub fn refine(&self, kernel: &Kernel, value: ValueId, conditions: &[ValueId]) -> Refined {
        let mut evaluator =
            Evaluator { analysis: self, kernel, limits: BTreeMap::new(), known: BTreeMap::new() };
        for &condition in conditions {
            evaluator.assume(condition, true);
        }
        evaluator.value(value)
    }
}

impl Evaluator<'_> {
    fn definition(&self, value: ValueId) -> Option<&OpKind> {
        match self.kernel.defs[value].origin {
            Origin::Result(op, _) => Some(&self.kernel.ops[op].kind),
            _ => None,
        }
    }

    fn assume(&mut self, condition: ValueId, holds: bool) {
        match self.definition(condition).cloned() {
            Some(OpKind::Arithmetic(Arithmetic::And, a, b)) if holds => {
                self.assume(a, true);
                self.assume(b, true);
            }
            Some(OpKind::Arithmetic(Arithmetic::Or, a, b)) if !holds => {
                self.assume(a, false);
                self.assume(b, false);
            }
            Some(OpKind::Math(Math::Not, a)) => self.assume(a, !holds),
            Some(OpKind::Compare(op, a, b)) => {
                let integers = [a, b].iter().all(|&v| self.analysis.integer(v).is_some());
                if integers {
                    self.compare(if holds { op } else { opposite(op) }, a, b);
                    self.compare(mirrored(if holds { op } else { opposite(op) }), b, a);
                }
            }
            _ => {}
        }
    }

    /// Notes what `a op b` says of `a`.
    fn compare(&mut self, op: Comparison, a: ValueId, b: ValueId) {
        let other = self.value(b).span;
        let (limit, below) = match op {
            Comparison::Lt => (Span::I32.cap(i64::MIN, other.high - 1), Some(-1)),
            Comparison::Le => (Span::I32.cap(i64::MIN, other.high), Some(0)),
            Comparison::Gt => (Span::between(other.low + 1, i64::from(u32::MAX)), None),
            Comparison::Ge => (Span::between(other.low, i64::from(u32::MAX)), None),
            Comparison::Eq => (other, Some(0)),
            Comparison::Ne => return,
        };
        let limit = if self.kernel.ty(a).scalar() == Scalar::U32 { limit.cap(0, i64::MAX) } else { limit };
        self.limit(a, limit, below.map(|slack| Bounded { value: b, slack }));
    }

    /// `value` lies in `limit`; so does, shifted, what it was computed from by adding a constant.
    fn limit(&mut self, value: ValueId, limit: Span, below: Option<Bounded>) {
        let entry = self.limits.entry(value).or_insert((Span::between(i64::MIN, i64::MAX), Vec::new()));
        entry.0 = limit.cap(entry.0.low, entry.0.high);
        entry.1.extend(below);
        self.known.clear();
        let Some(OpKind::Arithmetic(op @ (Arithmetic::Add | Arithmetic::Sub), a, b)) = self.definition(value)
        else {
            return;
        };
        let (op, a, b) = (*op, *a, *b);
        let constant = self.analysis.integer(b).and_then(|i| i.span.constant());
        // A u32 sum may wrap without being noted.
        let wraps = self.analysis.integer(value).is_none_or(|i| i.wrapped)
            || self.kernel.ty(value).scalar() != Scalar::I32;
        if let (Some(c), false) = (constant, wraps) {
            let shift = if op == Arithmetic::Add { -c } else { c };
            let below = below.map(|b| Bounded { slack: b.slack + shift, ..b });
            self.limit(a, limit.plus(Span::of(shift)), below);
        }
    }

    fn value(&mut self, value: ValueId) -> Refined {
        if let Some(known) = self.known.get(&value) {
            return known.clone();
        }
        let mut refined = self.compute(value);
        if let Some((limit, below)) = self.limits.get(&value) {
            refined.span = refined.span.cap(limit.low, limit.high);
            refined.below.extend(below);
        }
        self.known.insert(value, refined.clone());
        refined
    }

    fn compute(&mut self, value: ValueId) -> Refined {
        let fact = self.analysis.integer(value);
        let (span, wrapped) = fact.map_or((Span::I32, false), |i| (i.span, i.wrapped));
        let leaf = Refined { span, wrapped, below: vec![Bounded { value, slack: 0 }] };
        if let Origin::Index(op) = self.kernel.defs[value].origin {
            let OpKind::Loop(l) = &self.kernel.ops[op].kind else { return leaf };
            let end = self.value(l.end);
            let less = if l.whole { i64::from(l.step) } else { 1 };
            let under = |b: &Bounded| Bounded { slack: b.slack - less, ..*b };
            let span = span.cap(i64::MIN, end.span.high - less);
            let below = leaf.below.iter().copied().chain(end.below.iter().map(under)).collect();
            return Refined { span, wrapped, below };
        }
        let Some(kind) = self.definition(value).cloned() else { return leaf };
        let Type::Scalar(scalar @ (Scalar::I32 | Scalar::U32)) = self.kernel.ty(value) else { return leaf };
        match kind {
            OpKind::Arithmetic(op, a, b) => {
                let (x, y) = (self.value(a), self.value(b));
                let exact = integer::arithmetic(op, scalar, x.span, y.span);
                let (fitted, left) = integer::fit(exact, scalar);
                let escapes = fitted != exact || x.wrapped || y.wrapped;
                let shifted = |of: &Refined, by: i64| -> Vec<Bounded> {
                    of.below.iter().map(|b| Bounded { slack: b.slack.saturating_add(by), ..*b }).collect()
                };
                let mut below = match op {
                    Arithmetic::Add => [shifted(&x, y.span.high), shifted(&y, x.span.high)].concat(),
                    Arithmetic::Sub => shifted(&x, y.span.low.saturating_neg()),
                    Arithmetic::Min => [shifted(&x, 0), shifted(&y, 0)].concat(),
                    Arithmetic::Div | Arithmetic::Rem if x.span.low >= 0 && y.span.low > 0 => shifted(&x, 0),
                    _ => Vec::new(),
                };
                below.push(Bounded { value, slack: 0 });
                let wrapped = integer::wraps(op, left, (x.span, x.wrapped), (y.span, y.wrapped));
                Refined { span: fitted.meet(span), wrapped, below: if escapes { leaf.below } else { below } }
            }
            OpKind::Select(condition, a, b) => {
                let arm = |value, holds| {
                    let mut inner = Evaluator {
                        analysis: self.analysis,
                        kernel: self.kernel,
                        limits: self.limits.clone(),
                        known: BTreeMap::new(),
                    };
                    inner.assume(condition, holds);
                    inner.value(value)
                };
                let (x, y) = (arm(a, true), arm(b, false));
                let wrapped = x.wrapped || y.wrapped;
                Refined { span: x.span.join(y.span).meet(span), wrapped, below: leaf.below }
            }
            OpKind::Cast(a) if self.analysis.integer(a).is_some() => {
                let x = self.value(a);
                let range = integer::all(scalar);
                match x.span.within(range.low, range.high) {
                    true => x,
                    false => leaf,
                }
            }
            _ => leaf,
        }
    }
}

const fn opposite(op: Comparison) -> Comparison {
    match op {
        Comparison::Eq => Comparison::Ne,
        Comparison::Ne => Comparison::Eq,
        Comparison::Lt => Comparison::Ge,
        Comparison::Le => Comparison::Gt,
        Comparison::Gt => Comparison::Le,
        Comparison::Ge => Comparison::Lt,
    }
}

const fn mirrored(op: Comparison) -> Comparison {
    match op {
        Comparison::Eq => Comparison::Eq,
        Comparison::Ne => Comparison::Ne,
        Comparison::Lt => Comparison::Gt,
        Comparison::Le => Comparison::Ge,
        Comparison::Gt => Comparison::Lt,
        Comparison::Ge => Comparison::Le,
    }
}
