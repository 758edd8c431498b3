//! Kernels with one safeguard removed.
//!
//! Whatever a kernel's barriers, masks, conditions, guards and limits are there for must show when one is missing:
//! the verifier refuses the rest, the interpreter faults, or the result differs.

use std::collections::BTreeMap;

use crate::arena::Handle;
use crate::ir::{Kernel, Names, OpId, OpKind, Scope, View, describe};

/// Something that keeps a kernel right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Safeguard {
    /// A barrier, removed.
    Barrier(OpId),
    /// A condition, whose block is then always done.
    Condition(OpId),
    /// The mask of a load or store.
    Mask(OpId),
    /// The guard of an axis.
    Guard(Handle<View>, usize),
    /// The run-time length of an axis.
    Limit(Handle<View>, usize),
}

/// A kernel without one of its safeguards.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// What was removed.
    pub removed: String,
    /// What is left.
    pub kernel: Kernel,
}

/// Every barrier, condition, mask, guarded axis and run-time limit of a kernel.
pub fn safeguards(kernel: &Kernel) -> Vec<Safeguard> {
    let mut list = Vec::new();
    kernel.walk(|op, _| match &kernel.ops[op].kind {
        // A kernel without its launch barrier does not begin early, which is as right.
        OpKind::Barrier(Scope::Launch) => {}
        OpKind::Barrier(_) => list.push(Safeguard::Barrier(op)),
        OpKind::When(..) => list.push(Safeguard::Condition(op)),
        kind if kind.place().is_some_and(|p| p.mask.is_some()) => list.push(Safeguard::Mask(op)),
        _ => {}
    });
    for (id, view) in kernel.views.iter() {
        for axis in 0..view.shape.len() {
            list.extend(view.guarded[axis].then_some(Safeguard::Guard(id, axis)));
            list.extend(view.shape[axis].limit.map(|_| Safeguard::Limit(id, axis)));
        }
    }
    list
}

/// The kernel without one of its safeguards.
pub fn without(kernel: &Kernel, safeguard: Safeguard) -> Mutant {
    let describe = |op| describe(kernel, &Names::new(kernel), op);
    let axis = |view, axis| format!("axis {axis} of view {}", kernel.views[view].name);
    let removed = match safeguard {
        Safeguard::Barrier(op) => format!("barrier {}", kernel.ops[op].at),
        Safeguard::Condition(op) => format!("condition {}", describe(op)),
        Safeguard::Mask(op) => format!("mask of {}", describe(op)),
        Safeguard::Guard(view, n) => format!("guard of {}", axis(view, n)),
        Safeguard::Limit(view, n) => format!("limit of {}", axis(view, n)),
    };
    let mut kernel = kernel.clone();
    match safeguard {
        Safeguard::Barrier(op) => replace(&mut kernel, op, &[]),
        Safeguard::Condition(op) => {
            let body = kernel.ops[op].kind.block().cloned().unwrap_or_default();
            replace(&mut kernel, op, &body);
        }
        Safeguard::Mask(op) => {
            if let OpKind::Load(place) | OpKind::Store(place, _) = &mut kernel.ops[op].kind {
                place.mask = None;
            }
        }
        Safeguard::Guard(view, axis) => kernel.views[view].guarded[axis] = false,
        Safeguard::Limit(view, axis) => kernel.views[view].shape[axis].limit = None,
    }
    Mutant { removed, kernel }
}

/// Every kernel that lacks exactly one of the safeguards of `kernel`.
pub fn mutants(kernel: &Kernel) -> impl Iterator<Item = Mutant> {
    safeguards(kernel).into_iter().map(|safeguard| without(kernel, safeguard))
}

/// Every safeguard of some kernels, by the kernel's name, and whether it is missed: what guards an edge is needed only
/// where a shape has that edge, so of kernels with one name each safeguard needs to be missed in one of them only.
///
/// `is_missed` is told the kernel, the mutant and what came with the kernel.
pub fn census<C>(
    kernels: impl IntoIterator<Item = (Kernel, C)>,
    mut is_missed: impl FnMut(&Kernel, &Mutant, &C) -> bool,
) -> BTreeMap<String, bool> {
    let mut census = BTreeMap::new();
    for (kernel, context) in kernels {
        let mut alike = BTreeMap::new();
        for mutant in mutants(&kernel) {
            let nth: &mut u32 = alike.entry(mutant.removed.clone()).or_default();
            *nth += 1;
            let name = format!("{}: {} ({nth})", kernel.name(), mutant.removed);
            let missed = census.entry(name).or_insert(false);
            *missed = *missed || is_missed(&kernel, &mutant, &context);
        }
    }
    census
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
