//! Step 2: every value is defined where it is used.

use crate::ir::{Block, Kernel, OpId, OpKind, Origin, ValueId};

use super::rule::Rule;
use super::{Findings, types};

pub(super) fn check(kernel: &Kernel, findings: &mut Findings<'_>) {
    let mut scope = Scope { visible: vec![false; kernel.defs.len()] };
    for (id, def) in kernel.defs.iter() {
        let always = matches!(def.origin, Origin::Literal(_) | Origin::Builtin(_) | Origin::Argument(_));
        scope.visible[id.index()] = always;
    }
    let undo = scope.block(kernel, &kernel.body, findings);
    if findings.none().is_some() {
        kernel.walk(|op, _| types::check(kernel, op, findings));
    }
    drop(undo);
}

struct Scope {
    visible: Vec<bool>,
}

impl Scope {
    /// Checks a block; the values it defined are returned, still visible.
    fn block(&mut self, kernel: &Kernel, block: &Block, findings: &mut Findings<'_>) -> Vec<ValueId> {
        let mut defined = Vec::new();
        for &id in block {
            let op = &kernel.ops[id];
            for value in op.kind.operands() {
                self.need(kernel, id, value, findings);
            }
            for limit in limits(kernel, &op.kind) {
                self.need(kernel, id, limit, findings);
            }
            match &op.kind {
                OpKind::Loop(l) => {
                    let mut inner: Vec<ValueId> = l.carried.iter().copied().chain([l.index]).collect();
                    self.show(&inner);
                    inner.extend(self.block(kernel, &l.body, findings));
                    l.yields.iter().for_each(|&v| self.need(kernel, id, v, findings));
                    self.hide(&inner);
                }
                OpKind::When(_, body) => {
                    let inner = self.block(kernel, body, findings);
                    self.hide(&inner);
                }
                _ => {}
            }
            self.show(&op.results);
            defined.extend(&op.results);
        }
        defined
    }

    fn show(&mut self, values: &[ValueId]) {
        values.iter().for_each(|v| self.visible[v.index()] = true);
    }

    fn hide(&mut self, values: &[ValueId]) {
        values.iter().for_each(|v| self.visible[v.index()] = false);
    }

    fn need(&self, kernel: &Kernel, op: OpId, value: ValueId, findings: &mut Findings<'_>) {
        if !self.visible[value.index()] {
            let value = findings.names.of(value).to_owned();
            findings.at(op, Rule::Scope { value });
        }
        let _ = kernel;
    }
}

/// The run-time lengths of the view an operation touches.
pub(super) fn limits(kernel: &Kernel, kind: &OpKind) -> Vec<ValueId> {
    let Some(place) = kind.place() else { return Vec::new() };
    kernel.views[place.view].shape.iter().filter_map(|e| e.limit).collect()
}
