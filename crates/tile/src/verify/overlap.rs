//! Can two different threads touch the same element?
//!
//! A coordinate is a number for each thread plus multiples of symbols. The difference of two coordinates, one seen by
//! each thread, is therefore a number for each pair of threads plus multiples of symbols that both see alike (they
//! cancel), or that each sees for itself. Two touches of one view overlap only if on every axis that difference can
//! be zero, which is decided by its interval and its greatest common divisor. Touches through different views are
//! compared as positions in memory instead.
//!
//! The answer errs on one side only: `true` may be wrong, `false` is not.

use std::collections::BTreeSet;

use super::analysis::{Form, Span, Symbol};
use super::pairs::{Rows, differences};
use super::touch::{Coordinate, Touch};

/// Which pairs of threads are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pair {
    /// Different lanes of one SIMD group.
    SameSimd,
    /// Different SIMD groups of one threadgroup.
    OtherSimd,
    /// Any threads of threadgroups that differ along an axis, by a positive or a negative distance.
    OtherGroup {
        /// The axis.
        axis: u8,
        /// Whether the first has the larger index.
        ahead: bool,
    },
}

/// How two threads see one symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Both see the same number.
    Alike,
    /// The first sees the number before: one less.
    OneBefore,
    /// The first sees a number larger by something in this span.
    Apart(Span),
    /// Each sees its own.
    Independent,
}

/// What the comparison needs to know of symbols.
pub(super) trait Sight {
    /// How the threads of a pair see a symbol.
    fn seen(&self, symbol: Symbol, pair: Pair) -> Seen;

    /// The span of a symbol.
    fn span(&self, symbol: Symbol) -> Span;

    /// The form of a value.
    fn form(&self, value: crate::ir::ValueId) -> Option<Form>;
}

/// The part of a difference that does not depend on the pair of threads: `base + multiples of step` in an interval.
struct Rest {
    low: i64,
    high: i64,
    step: i64,
    base: i64,
}

impl Rest {
    fn of(a: &Form, b: &Form, pair: Pair, sight: &impl Sight) -> Self {
        let mut sum = Self { low: 0, high: 0, step: 0, base: 0 };
        let symbols: BTreeSet<Symbol> = a.terms().chain(b.terms()).map(|(s, _)| s).collect();
        for symbol in symbols {
            let factor = |form: &Form| form.terms().find(|(s, _)| *s == symbol).map_or(0, |(_, f)| f);
            let (fa, fb) = (factor(a), factor(b));
            let span = sight.span(symbol);
            match sight.seen(symbol, pair) {
                Seen::Alike => sum.add(span, fa - fb),
                Seen::OneBefore => {
                    sum.add(span, fa - fb);
                    sum.add(Span::of(1), -fa);
                }
                Seen::Apart(distance) if fa == fb => sum.add(distance, fa),
                Seen::Apart(_) | Seen::Independent => {
                    sum.add(span, fa);
                    sum.add(span, -fb);
                }
            }
        }
        sum
    }

    fn add(&mut self, span: Span, factor: i64) {
        if factor == 0 {
            return;
        }
        let product = span.times(Span::of(factor));
        self.low = self.low.saturating_add(product.low);
        self.high = self.high.saturating_add(product.high);
        self.base = self.base.saturating_add(product.low);
        if span.low != span.high {
            self.step = gcd(self.step, factor.abs());
        }
    }

    fn contains(&self, value: i64) -> bool {
        let hits = match self.step {
            0 => value == self.base,
            step => (value - self.base) % step == 0,
        };
        hits && value >= self.low && value <= self.high
    }
}

const fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Whether two threads of the kind `pair` can touch one element, the first by `a`, the second by `b`.
pub(super) fn can_meet(a: &Touch, b: &Touch, pair: Pair, sight: &impl Sight) -> bool {
    let (ra, rb) = (a.reach(), b.reach());
    if ra.high < rb.low || rb.high < ra.low {
        return false;
    }
    let alike = a.view.strides == b.view.strides
        && a.view.offset == b.view.offset
        && a.view.is_injective()
        && b.view.is_injective();
    let lines: Vec<Line> = if alike {
        let lines = (0..a.axes.len()).map(|n| Line::axis(&a.axes[n], &b.axes[n], pair, sight));
        match lines.collect::<Option<Vec<Line>>>() {
            Some(lines) => lines,
            None => return false,
        }
    } else {
        vec![Line::flat(a, b, pair, sight)]
    };
    let rows = |touch: &Touch, form: fn(&Line) -> &Form| {
        let row = |t: usize| std::array::from_fn(|n| lines.get(n).map_or(0, |l| form(l).threads().at(t)));
        Rows::new(touch.active.clone(), row)
    };
    let (rows_a, rows_b) = (rows(a, |l| &l.a), rows(b, |l| &l.b));
    // A thread does not race with itself, but nobody knows which lane of a SIMD group did its part of a fragment.
    let with_itself = a.collective || b.collective;
    differences(&rows_a, &rows_b, pair, with_itself).iter().any(|difference| {
        let zero = |(line, d): (&Line, &i64)| line.offsets.iter().any(|o| line.rest.contains(-(d + o)));
        lines.iter().zip(difference).all(zero)
    })
}

/// One condition for meeting: the tables of both, the rest of the difference, and the differences between the
/// elements touched around each coordinate.
struct Line {
    a: Form,
    b: Form,
    rest: Rest,
    offsets: Vec<i64>,
}

impl Line {
    /// Equality along an axis; `None` when the spans or bounds rule it out.
    fn axis(a: &Coordinate, b: &Coordinate, pair: Pair, sight: &impl Sight) -> Option<Self> {
        let apart = a.span.high + a.width <= b.span.low || b.span.high + b.width <= a.span.low;
        if apart || stays_below(a, b, pair, sight) || stays_below(b, a, pair, sight) {
            return None;
        }
        let rest = Rest::of(&a.form, &b.form, pair, sight);
        let offsets = (1 - b.width..a.width).collect();
        Some(Self { a: a.form.clone(), b: b.form.clone(), rest, offsets })
    }

    /// Equality of positions in memory.
    fn flat(a: &Touch, b: &Touch, pair: Pair, sight: &impl Sight) -> Self {
        let form = |touch: &Touch| {
            let terms = touch.axes.iter().zip(&touch.view.strides);
            let start = Form::constant(touch.view.offset as i64);
            terms.fold(start, |sum, (axis, &stride)| sum.plus(&axis.form, stride as i64))
        };
        let around = |touch: &Touch| {
            let terms = touch.axes.iter().zip(&touch.view.strides);
            terms.fold(vec![0], |sums, (axis, &stride)| {
                let steps = (0..axis.width).flat_map(|n| sums.iter().map(move |s| s + n * stride as i64));
                steps.collect::<Vec<i64>>()
            })
        };
        let (fa, fb, ub) = (form(a), form(b), around(b));
        let offsets: BTreeSet<i64> = around(a).iter().flat_map(|u| ub.iter().map(move |v| u - v)).collect();
        let rest = Rest::of(&fa, &fb, pair, sight);
        Self { a: fa, b: fb, rest, offsets: offsets.into_iter().collect() }
    }
}

/// Whether a run-time bound keeps every element of `a` below the coordinate of `b`, as in `t < position`.
fn stays_below(a: &Coordinate, b: &Coordinate, pair: Pair, sight: &impl Sight) -> bool {
    a.below.iter().any(|bound| {
        let Some(form) = sight.form(bound.value) else { return false };
        let alike = form.terms().chain(b.form.terms()).all(|(s, _)| sight.seen(s, pair) == Seen::Alike);
        let difference = form.plus(&b.form, -1);
        let (low, high) = difference.threads().bounds();
        let constant = difference.known().is_some()
            && low == high
            && form.threads().bounds().0 == form.threads().bounds().1;
        alike && constant && high + bound.slack + a.width - 1 < 0
    })
}
