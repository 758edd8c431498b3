//! Kernels with one safeguard removed.
//!
//! Whatever a kernel's barriers, masks, conditions, guards and limits are there for must show when one is missing:
//! the verifier refuses the rest, the interpreter faults, or the result differs.

use crate::ir::{Kernel, Names, OpId, OpKind, describe};

/// A kernel without one of its safeguards.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// What was removed.
    pub removed: String,
    /// What is left.
    pub kernel: Kernel,
}

/// Every kernel that lacks exactly one barrier, mask, condition, guarded axis or run-time limit of `kernel`.
pub fn mutants(kernel: &Kernel) -> Vec<Mutant> {
    let names = Names::new(kernel);
    let mut ops: Vec<OpId> = Vec::new();
    kernel.walk(|op, _| ops.push(op));
    let mut mutants = Vec::new();
    for op in ops {
        let text = describe(kernel, &names, op);
        let mut without = |what: &str, change: &dyn Fn(&mut Kernel)| {
            let mut kernel = kernel.clone();
            change(&mut kernel);
            mutants.push(Mutant { removed: format!("{what}: {text}"), kernel });
        };
        match &kernel.ops[op].kind {
            OpKind::Barrier(_) => without("barrier", &|k| replace(k, op, &[])),
            OpKind::When(_, body) => without("condition", &|k| replace(k, op, body)),
            kind if kind.place().is_some_and(|p| p.mask.is_some()) => without("mask", &|k| unmask(k, op)),
            _ => {}
        }
    }
    for (id, view) in kernel.views.iter() {
        for axis in 0..view.shape.len() {
            let mut without = |what: &str, change: &dyn Fn(&mut Kernel)| {
                let mut kernel = kernel.clone();
                change(&mut kernel);
                mutants
                    .push(Mutant { removed: format!("{what} of axis {axis} of view {}", view.name), kernel });
            };
            if view.guarded[axis] {
                without("guard", &|k| k.views[id].guarded[axis] = false);
            }
            if view.shape[axis].limit.is_some() {
                without("limit", &|k| k.views[id].shape[axis].limit = None);
            }
        }
    }
    mutants
}

fn unmask(kernel: &mut Kernel, op: OpId) {
    match &mut kernel.ops[op].kind {
        OpKind::Load(place) | OpKind::Store(place, _) => place.mask = None,
        _ => {}
    }
}

/// Puts `instead` where `op` was.
fn replace(kernel: &mut Kernel, op: OpId, instead: &[OpId]) {
    let splice = |block: &mut Vec<OpId>| {
        if let Some(at) = block.iter().position(|&o| o == op) {
            block.splice(at..=at, instead.iter().copied());
        }
    };
    splice(&mut kernel.body);
    let all: Vec<OpId> = kernel.ops.iter().map(|(id, _)| id).collect();
    for id in all.into_iter().filter(|&id| id != op) {
        match &mut kernel.ops[id].kind {
            OpKind::Loop(l) => splice(&mut l.body),
            OpKind::When(_, body) => splice(body),
            _ => {}
        }
    }
}
