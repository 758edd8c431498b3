//! Step 3: what a kernel does while launches before it may still run.
//!
//! With a launch barrier a kernel may begin early. Up to the barrier it may only read, and only what no launch writes:
//! buffers that it does not write itself, which a pipeline must bind to its inputs.

use crate::ir::{Kernel, OpId, OpKind, Scope, Space};

use super::Findings;
use super::facts::Facts;
use super::rule::Rule;

pub(super) fn check(kernel: &Kernel, facts: &mut Facts, findings: &mut Findings<'_>) {
    let mut barriers: Vec<OpId> = Vec::new();
    kernel.walk(|id, _| {
        if matches!(kernel.ops[id].kind, OpKind::Barrier(Scope::Launch)) {
            barriers.push(id);
        }
    });
    let Some(&first) = barriers.first() else { return };
    for &barrier in &barriers {
        if barrier != first || !kernel.body.contains(&barrier) {
            findings.at(barrier, Rule::LaunchBarrier);
        }
    }
    let mut before = true;
    kernel.walk(|id, _| {
        before &= id != first;
        if !before {
            return;
        }
        let kind = &kernel.ops[id].kind;
        let Some(Space::Device(buffer)) = kind.place().map(|place| kernel.views[place.view].space) else {
            return;
        };
        let name = kernel.buffers[buffer].name.clone();
        let written = kernel.buffers[buffer].access.writes();
        match kind {
            OpKind::Store(..) | OpKind::MatrixStore { .. } => {
                findings.at(id, Rule::EarlyAccess { name, what: "written" })
            }
            _ if written => findings.at(id, Rule::EarlyAccess { name, what: "read, and written later" }),
            _ => facts.set_early(buffer),
        }
    });
    facts.set_begins_early();
}
