//! Step 3: fragments lie inside their views or pass through scratch, and every lane agrees where.

use std::collections::BTreeSet;

use crate::ir::{Kernel, OpId, OpKind, Place, Scratch, Space};

use super::Findings;
use super::access::{guard, known};
use super::analysis::Analysis;
use super::facts::{AxisGuard, Facts};
use super::rule::Rule;

pub(super) fn check(kernel: &Kernel, analysis: &Analysis, facts: &mut Facts, findings: &mut Findings<'_>) {
    let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
    kernel.walk(|id, _| {
        let (place, scratch, set) = match &kernel.ops[id].kind {
            OpKind::MatrixLoad { from, scratch, .. } => (from, scratch, &mut read),
            OpKind::MatrixStore { to, scratch, .. } => (to, scratch, &mut written),
            _ => return,
        };
        if let Space::Device(buffer) = kernel.views[place.view].space {
            set.insert(buffer);
        }
        let guards = fragment(kernel, analysis, id, place, scratch.as_ref(), findings);
        facts.set_guards(id, guards);
    });
    for &buffer in read.intersection(&written) {
        let name = kernel.buffers[buffer].name.clone();
        findings.declared(format!("kernel {}", kernel.name), Rule::FragmentReadWrite { name });
    }
}

fn fragment(
    kernel: &Kernel,
    analysis: &Analysis,
    id: OpId,
    place: &Place,
    scratch: Option<&Scratch>,
    findings: &mut Findings<'_>,
) -> Vec<AxisGuard> {
    let view = &kernel.views[place.view];
    let rank = view.shape.len();
    if rank < 2 {
        findings.at(id, Rule::FragmentRank { rank });
        return vec![AxisGuard::default(); rank];
    }
    if view.strides[rank - 1] != 1 || view.strides[rank - 2] < 8 {
        findings.at(id, Rule::FragmentStrides { strides: view.strides.clone() });
    }
    for &value in &place.index {
        if analysis.varies(value).lane {
            let what = findings.names.of(value).to_owned();
            findings.at(id, Rule::LaneVaries { what });
        }
    }
    let mut guards = Vec::new();
    for (axis, &value) in place.index.iter().enumerate() {
        let known = known(kernel, analysis, id, place, value);
        let name = findings.names.of(value).to_owned();
        if known.wrapped {
            findings.at(id, Rule::IndexOverflow { axis, coordinate: name.clone(), span: known.span });
        }
        let width = if axis + 2 < rank { 1 } else { 8 };
        let extent = &view.shape[axis];
        let guard = guard(extent, &known, width);
        guards.push(guard);
        if guard.is_proven() {
            continue;
        }
        let span = known.span;
        if !view.guarded[axis] {
            let length = i64::from(extent.size) - i64::from(width) + 1;
            findings.at(id, Rule::OutOfBounds { axis, coordinate: name, span, length });
        } else if scratch.is_none() {
            findings.at(id, Rule::FragmentEdge { axis, span, length: extent.size });
        }
    }
    if let Some(scratch) = scratch {
        check_scratch(kernel, id, scratch, view.element, findings);
    }
    guards
}

fn check_scratch(
    kernel: &Kernel,
    id: OpId,
    scratch: &Scratch,
    element: crate::types::Scalar,
    findings: &mut Findings<'_>,
) {
    let view = &kernel.views[scratch.view];
    let simd_groups = kernel.launch.simd_groups();
    let shape: Vec<u32> = view.shape.iter().map(|e| e.size).collect();
    let fits = matches!(view.space, Space::Shared(_))
        && view.element == element
        && shape == [simd_groups, 8, 8]
        && view.strides == [64, 8, 1]
        && view.access.reads()
        && view.access.writes();
    if !fits {
        let name = view.name.clone();
        findings.at(id, Rule::FragmentScratch { name, element, simd_groups });
    }
}
