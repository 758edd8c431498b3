//! What an operation touches, as far as it is known before the kernel runs.

use crate::arena::Handle;
use crate::ir::{Extent, Kernel, OpId, OpKind, Place, Space, View};
use crate::types::Scalar;

use super::access::known;
use super::analysis::{Analysis, Bounded, Form, Span, Symbol, Table};
use super::facts::Facts;

/// The elements one operation touches in one view.
#[derive(Clone, Debug)]
pub(super) struct Touch {
    pub(super) op: OpId,
    pub(super) view: View,
    pub(super) write: bool,
    /// Done by a SIMD group as a whole.
    pub(super) collective: bool,
    /// Done by the threadgroup as a whole.
    pub(super) whole: bool,
    /// Use of a fragment's scratch: ordered within its SIMD group by barriers the emitters put around it.
    pub(super) scratch: bool,
    /// Each coordinate.
    pub(super) axes: Vec<Coordinate>,
    /// The threads that may do it.
    pub(super) active: Vec<bool>,
}

/// One coordinate of a touch.
#[derive(Clone, Debug)]
pub(super) struct Coordinate {
    pub(super) form: Form,
    pub(super) span: Span,
    pub(super) below: Vec<Bounded>,
    /// Neighbouring elements touched along the axis.
    pub(super) width: i64,
}

/// Everything an operation touches.
pub(super) fn touches(kernel: &Kernel, analysis: &Analysis, facts: &Facts, op: OpId) -> Vec<Touch> {
    let kind = &kernel.ops[op].kind;
    match kind {
        OpKind::TileMultiply { left, right, .. } => {
            return [left, right].map(|view| tile(kernel, op, *view, false)).to_vec();
        }
        OpKind::TileStore { to, .. } => return vec![tile(kernel, op, *to, true)],
        _ => {}
    }
    let (place, write, collective, scratch) = match kind {
        OpKind::Load(place) => (place, false, false, None),
        OpKind::Store(place, _) => (place, true, false, None),
        OpKind::MatrixLoad { from, scratch, .. } => (from, false, true, scratch.as_ref()),
        OpKind::MatrixStore { to, scratch, .. } => (to, true, true, scratch.as_ref()),
        _ => return Vec::new(),
    };
    let width = match kind {
        OpKind::Load(_) => kernel.ops[op].results.first().map_or(1, |&r| kernel.ty(r).elements()),
        OpKind::Store(_, value) => kernel.ty(*value).elements(),
        _ => 8,
    };
    let view = kernel.views[place.view].clone();
    let rank = view.shape.len();
    let axis = |n: usize| {
        let wide = n + 1 == rank || collective && n + 2 == rank;
        let width = if wide { i64::from(width) } else { 1 };
        coordinate(kernel, analysis, op, place, n, width)
    };
    let axes = (0..rank).map(axis).collect();
    let active = active(kernel, analysis, op, place);
    let main = Touch { op, view, write, collective, whole: false, scratch: false, axes, active };
    let spill = scratch.filter(|_| !facts.is_proven(op)).map(|scratch| {
        let threads = kernel.launch.threads as usize;
        let fixed = |form: Form, high: i64, width: i64| Coordinate {
            form,
            span: Span::between(0, high),
            below: Vec::new(),
            width,
        };
        let simd = Form::table(Table::from_threads(threads, |t| (t / 32) as i64));
        let last = i64::from(kernel.launch.simd_groups()) - 1;
        let zero = || fixed(Form::constant(0), 0, 8);
        Touch {
            op,
            view: kernel.views[scratch.view].clone(),
            write: true,
            collective: true,
            whole: false,
            scratch: true,
            axes: vec![fixed(simd, last, 1), zero(), zero()],
            active: vec![true; threads],
        }
    });
    [main].into_iter().chain(spill).collect()
}

/// All of a view, by nobody knows which threads.
fn tile(kernel: &Kernel, op: OpId, view: Handle<View>, write: bool) -> Touch {
    let view = kernel.views[view].clone();
    let axis = |extent: &Extent| Coordinate {
        form: Form::constant(0),
        span: Span::of(0),
        below: Vec::new(),
        width: i64::from(extent.size),
    };
    let axes = view.shape.iter().map(axis).collect();
    let active = vec![true; kernel.launch.threads as usize];
    Touch { op, view, write, collective: true, whole: true, scratch: false, axes, active }
}

fn coordinate(
    kernel: &Kernel,
    analysis: &Analysis,
    op: OpId,
    place: &Place,
    axis: usize,
    width: i64,
) -> Coordinate {
    let (value, extent) = (place.index[axis], &kernel.views[place.view].shape[axis]);
    let known = known(kernel, analysis, op, place, value);
    // What lies outside a guarded axis is not touched.
    let span = known.span.cap(1 - width, i64::from(extent.size) - 1);
    let form = analysis.integer(value).map_or(Form::symbol(Symbol::Value(value)), |i| i.form.clone());
    Coordinate { form, span, below: known.below, width }
}

/// The threads for which nothing known forbids the access.
fn active(kernel: &Kernel, analysis: &Analysis, op: OpId, place: &Place) -> Vec<bool> {
    let threads = kernel.launch.threads as usize;
    let context = analysis.context(op);
    let conditions = context.conditions.iter().copied().chain(place.mask);
    let mut active = vec![true; threads];
    let mut pending: Vec<_> = conditions.collect();
    while let Some(condition) = pending.pop() {
        if let Some(table) = analysis.threads_where(condition) {
            (0..threads).for_each(|t| active[t] &= table.at(t) != 0);
        } else if let crate::ir::Origin::Result(op, _) = kernel.defs[condition].origin
            && let OpKind::Arithmetic(crate::ir::Arithmetic::And, a, b) = kernel.ops[op].kind
            && kernel.ty(a).scalar() == Scalar::Bool
        {
            pending.extend([a, b]);
        }
    }
    active
}

impl Touch {
    /// The allocation or buffer.
    pub(super) fn space(&self) -> Space {
        self.view.space
    }

    /// The elements touched at most, from the start of the memory.
    pub(super) fn reach(&self) -> Span {
        let mut reach = Span::of(self.view.offset as i64);
        for (axis, stride) in self.axes.iter().zip(&self.view.strides) {
            let here = Span::between(axis.span.low.max(0), axis.span.high + axis.width - 1);
            reach = reach.plus(here.times(Span::of(*stride as i64)));
        }
        reach
    }
}
