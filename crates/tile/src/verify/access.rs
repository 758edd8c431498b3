//! Step 3: every load and store is inside its view or guarded, and used as declared.

use crate::ir::{Extent, Kernel, OpId, OpKind, Place, ValueId, View};

use super::Findings;
use super::analysis::{Analysis, Refined};
use super::facts::{AxisGuard, Facts};
use super::rule::Rule;

pub(super) fn check(kernel: &Kernel, analysis: &Analysis, facts: &mut Facts, findings: &mut Findings<'_>) {
    kernel.walk(|id, _| {
        let kind = &kernel.ops[id].kind;
        let Some(place) = kind.place() else { return };
        mode(kernel, id, findings);
        limits(kernel, analysis, id, place, findings);
        let width = match kind {
            OpKind::Load(_) => kernel.ty(kernel.ops[id].results[0]).elements(),
            OpKind::Store(_, value) => kernel.ty(*value).elements(),
            _ => return,
        };
        let guards = (0..place.index.len())
            .map(|axis| {
                let width = if axis + 1 == place.index.len() { width } else { 1 };
                coordinate(kernel, analysis, id, place, axis, width, findings)
            })
            .collect();
        facts.set_guards(id, guards);
        if width > 1 {
            alignment(kernel, analysis, id, place, width, findings);
        }
    });
}

fn mode(kernel: &Kernel, id: OpId, findings: &mut Findings<'_>) {
    let kind = &kernel.ops[id].kind;
    let Some(place) = kind.place() else { return };
    let view = &kernel.views[place.view];
    let allowed = match kind {
        OpKind::Store(..) | OpKind::MatrixStore { .. } => view.access.writes(),
        _ => view.access.reads(),
    };
    if !allowed {
        findings.at(id, Rule::AccessMode { view: view.name.clone(), access: view.access });
    }
}

/// Run-time lengths: the same for all threads, and within the axis.
fn limits(kernel: &Kernel, analysis: &Analysis, id: OpId, place: &Place, findings: &mut Findings<'_>) {
    let view = &kernel.views[place.view];
    for (axis, extent) in view.shape.iter().enumerate() {
        let Some(limit) = extent.limit else { continue };
        let name = findings.names.of(limit).to_owned();
        if !analysis.varies(limit).uniform() {
            findings.at(id, Rule::LimitVaries { limit: name.clone(), axis });
        }
        let known = analysis.refine(kernel, limit, &analysis.context(id).conditions);
        if known.wrapped || !known.span.within(0, i64::from(extent.size)) {
            let rule = Rule::LimitRange { limit: name, axis, span: known.span, size: extent.size };
            findings.at(id, rule);
        }
    }
}

/// What is known of a coordinate where the access happens.
pub(super) fn known(
    kernel: &Kernel,
    analysis: &Analysis,
    id: OpId,
    place: &Place,
    value: ValueId,
) -> Refined {
    let context = analysis.context(id);
    let conditions: Vec<ValueId> = context.conditions.iter().copied().chain(place.mask).collect();
    analysis.refine(kernel, value, &conditions)
}

/// What must be compared at run time so that `width` elements from `known` are inside an axis.
pub(super) fn guard(extent: &Extent, known: &Refined, width: u32) -> AxisGuard {
    let width = i64::from(width);
    let below_limit = |limit: ValueId| known.below.iter().any(|b| b.value == limit && b.slack + width <= 0);
    let high = match extent.limit {
        Some(limit) => !below_limit(limit),
        None => known.span.high > i64::from(extent.size) - width,
    };
    AxisGuard { low: known.span.low < 0, high: high && !known.span.is_empty() }
}

fn coordinate(
    kernel: &Kernel,
    analysis: &Analysis,
    id: OpId,
    place: &Place,
    axis: usize,
    width: u32,
    findings: &mut Findings<'_>,
) -> AxisGuard {
    let view = &kernel.views[place.view];
    let (extent, value) = (&view.shape[axis], place.index[axis]);
    let known = known(kernel, analysis, id, place, value);
    let name = findings.names.of(value).to_owned();
    if known.wrapped {
        findings.at(id, Rule::IndexOverflow { axis, coordinate: name, span: known.span });
        return AxisGuard::default();
    }
    let guard = guard(extent, &known, width);
    if guard.is_proven() {
        return guard;
    }
    if !view.guarded[axis] {
        let length = i64::from(extent.size) - i64::from(width) + 1;
        findings.at(id, Rule::OutOfBounds { axis, coordinate: name, span: known.span, length });
    } else if width > 1 {
        let n = i64::from(width);
        let whole = extent.limit.is_none() && i64::from(extent.size) % n == 0 && known.span.is_multiple_of(n);
        if !whole {
            findings.at(id, Rule::Straddles { width, coordinate: name, length: extent.size });
        }
    }
    guard
}

/// A vector's first element is at a multiple of its length, whatever the coordinates.
fn alignment(
    kernel: &Kernel,
    analysis: &Analysis,
    id: OpId,
    place: &Place,
    width: u32,
    findings: &mut Findings<'_>,
) {
    let view: &View = &kernel.views[place.view];
    let last = place.index.len() - 1;
    if view.strides[last] != 1 {
        findings.at(id, Rule::Strided { stride: view.strides[last] });
    }
    let mut misaligned = Vec::new();
    if !view.offset.is_multiple_of(u64::from(width)) {
        misaligned.push(format!("offset {}", view.offset));
    }
    for axis in 0..last {
        if !view.strides[axis].is_multiple_of(u64::from(width)) {
            let span = known(kernel, analysis, id, place, place.index[axis]).span;
            let product = span.divisor().wrapping_mul(view.strides[axis] as i64);
            if product % i64::from(width) != 0 {
                misaligned.push(format!("stride {} of axis {axis}", view.strides[axis]));
            }
        }
    }
    if !known(kernel, analysis, id, place, place.index[last]).span.is_multiple_of(i64::from(width)) {
        misaligned.push(format!("coordinate {}", findings.names.of(place.index[last])));
    }
    for what in misaligned {
        findings.at(id, Rule::Misaligned { width, what });
    }
}
