//! What verification leaves for the emitters and the report.

use std::collections::BTreeSet;

use crate::arena::Handle;
use crate::ir::{Buffer, Builtin, Kernel, OpId, OpKind, Origin, ValueId};
use crate::types::{Literal, Scalar, Type};

use super::analysis::Analysis;

/// What must be compared at run time on one axis of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AxisGuard {
    /// The coordinate can be negative.
    pub low: bool,
    /// The coordinate can reach the end.
    pub high: bool,
}

impl AxisGuard {
    /// Whether the axis is proven inside.
    pub const fn is_proven(self) -> bool {
        !self.low && !self.high
    }
}

/// Proven facts, by operation.
#[derive(Clone, Debug)]
pub struct Facts {
    guards: Vec<Vec<AxisGuard>>,
    loops_interior: usize,
    loops: usize,
    positive: Vec<bool>,
    wraps: Vec<bool>,
    constants: Vec<Option<Literal>>,
    begins_early: bool,
    early: BTreeSet<Handle<Buffer>>,
}

impl Facts {
    pub(super) fn new(kernel: &Kernel) -> Self {
        let guards = vec![Vec::new(); kernel.ops.len()];
        Self {
            guards,
            loops_interior: 0,
            loops: 0,
            positive: vec![false; kernel.defs.len()],
            wraps: vec![true; kernel.defs.len()],
            constants: vec![None; kernel.defs.len()],
            begins_early: false,
            early: BTreeSet::new(),
        }
    }

    pub(super) fn set_guards(&mut self, op: OpId, guards: Vec<AxisGuard>) {
        self.guards[op.index()] = guards;
    }

    /// For an access, what must be compared on each axis; empty for other operations.
    pub fn guards(&self, op: OpId) -> &[AxisGuard] {
        &self.guards[op.index()]
    }

    /// Whether every coordinate of an access is proven inside its view.
    pub fn is_proven(&self, op: OpId) -> bool {
        self.guards(op).iter().all(|g| g.is_proven())
    }

    /// Loops all of whose accesses are proven, and all loops.
    pub fn loops(&self) -> (usize, usize) {
        (self.loops_interior, self.loops)
    }

    /// Whether the kernel may begin while launches before it still run: it has a launch barrier.
    pub fn begins_early(&self) -> bool {
        self.begins_early
    }

    /// Whether a buffer is read before the launch barrier, and so must be one that no launch writes.
    pub fn is_early(&self, buffer: Handle<Buffer>) -> bool {
        self.early.contains(&buffer)
    }

    pub(super) fn set_begins_early(&mut self) {
        self.begins_early = true;
    }

    pub(super) fn set_early(&mut self, buffer: Handle<Buffer>) {
        self.early.insert(buffer);
    }

    /// Whether an integer is never negative.
    pub fn is_positive(&self, value: ValueId) -> bool {
        self.positive[value.index()]
    }

    /// Whether a signed result may leave the range of its type and wrap around.
    pub fn may_wrap(&self, value: ValueId) -> bool {
        self.wraps[value.index()]
    }

    /// The one number or truth value that a computed value, or the thread's place, can be.
    pub fn constant(&self, value: ValueId) -> Option<Literal> {
        self.constants[value.index()]
    }

    pub(super) fn finish(&mut self, kernel: &Kernel, analysis: &Analysis) {
        let (mut loops, mut interior) = (0, 0);
        kernel.walk(|id, _| {
            if let OpKind::Loop(_) = &kernel.ops[id].kind {
                loops += 1;
                let mut proven = true;
                kernel.walk(|inner, _| {
                    let within = analysis.context(inner).loops.contains(&id);
                    proven &= !within || self.is_proven(inner);
                });
                interior += usize::from(proven);
            }
        });
        (self.loops, self.loops_interior) = (loops, interior);
        for (id, _) in kernel.defs.iter() {
            self.wraps[id.index()] = analysis.integer(id).is_none_or(|i| i.wrapped);
            self.positive[id.index()] = analysis.integer(id).is_some_and(|i| i.span.low >= 0 && !i.wrapped);
            self.constants[id.index()] = constant(kernel, analysis, id);
        }
    }
}

/// Loops keep their variables, and a load stays a load, whatever is known of them.
fn constant(kernel: &Kernel, analysis: &Analysis, value: ValueId) -> Option<Literal> {
    let folds = match kernel.defs[value].origin {
        Origin::Result(op, _) => kernel.ops[op].kind.is_pure(),
        Origin::Builtin(builtin) => matches!(builtin, Builtin::Group(_) | Builtin::SimdGroup),
        Origin::Literal(_) | Origin::Argument(_) | Origin::Index(_) | Origin::Carried(..) => false,
    };
    let known = analysis.integer(value).filter(|i| folds && !i.wrapped)?.span.constant()?;
    match kernel.ty(value) {
        Type::Scalar(Scalar::I32) => i32::try_from(known).ok().map(Literal::I32),
        Type::Scalar(Scalar::U32) => u32::try_from(known).ok().map(Literal::U32),
        Type::Scalar(Scalar::Bool) => Some(Literal::Bool(known != 0)),
        Type::Scalar(_) | Type::Vector(..) | Type::Matrix(_) | Type::Tile => None,
    }
}
