//! What of a program its text says.
//!
//! A whole number or truth value proven to be one constant is written as that constant. What then nobody asks for is
//! left out: operations without effect whose results are not mentioned, and blocks under a condition that never holds.

use crate::ir::{Block, Kernel, OpId, OpKind, Origin, ValueId, neutral};
use crate::types::Literal;
use crate::verify::Facts;

/// Which operations are printed, and how values are named in them.
pub(super) struct Said<'a> {
    kernel: &'a Kernel,
    facts: &'a Facts,
    ops: Vec<bool>,
    values: Vec<bool>,
}

impl<'a> Said<'a> {
    pub(super) fn new(kernel: &'a Kernel, facts: &'a Facts) -> Self {
        let (ops, values) = (vec![false; kernel.ops.len()], vec![false; kernel.defs.len()]);
        let mut said = Self { kernel, facts, ops, values };
        let mut wanted = Vec::new();
        said.effects(&kernel.body, &mut wanted);
        while let Some(op) = wanted.pop() {
            if !std::mem::replace(&mut said.ops[op.index()], true) {
                said.mention(op, &mut wanted);
            }
        }
        said
    }

    /// The constant that a value is.
    pub(super) fn constant(&self, value: ValueId) -> Option<Literal> {
        self.kernel.constant(value).or_else(|| self.facts.constant(value))
    }

    /// The value that stands for `value`: what a settled choice chose, what a constant leaves as it is.
    pub(super) fn stands_for(&self, value: ValueId) -> ValueId {
        match self.same(value) {
            Some(other) => self.stands_for(other),
            None => value,
        }
    }

    /// Whether an operation is printed.
    pub(super) fn op(&self, op: OpId) -> bool {
        self.ops[op.index()]
    }

    /// Operations that are printed, in the order in which they were built.
    pub(super) fn ops(&self) -> impl Iterator<Item = (OpId, &'a OpKind)> {
        self.kernel.ops.iter().filter(|(id, _)| self.op(*id)).map(|(id, op)| (id, &op.kind))
    }

    /// Whether a value is mentioned by name.
    pub(super) fn value(&self, value: ValueId) -> bool {
        self.values[value.index()]
    }

    fn same(&self, value: ValueId) -> Option<ValueId> {
        let Origin::Result(op, _) = self.kernel.defs[value].origin else { return None };
        match self.kernel.ops[op].kind {
            OpKind::Select(condition, a, b) => match self.constant(condition)? {
                Literal::Bool(true) => Some(a),
                _ => Some(b),
            },
            // Floats have no neutral operand: the sum of minus zero and zero is zero.
            OpKind::Arithmetic(op, a, b) => match (self.constant(a), self.constant(b)) {
                (Some(a), None) => neutral::left(op, a).then_some(b),
                (None, Some(b)) => neutral::right(op, b).then_some(a),
                _ => None,
            },
            _ => None,
        }
    }

    /// Notes the operations of a block that do something, and the blocks they are in; whether there are any.
    fn effects(&self, block: &Block, wanted: &mut Vec<OpId>) -> bool {
        let before = wanted.len();
        for &id in block {
            let acts = match &self.kernel.ops[id].kind {
                OpKind::Store(..)
                | OpKind::MatrixStore { .. }
                | OpKind::TileStore { .. }
                | OpKind::Barrier(_) => true,
                OpKind::Loop(l) => self.effects(&l.body, wanted),
                OpKind::When(condition, body) => {
                    self.constant(*condition) != Some(Literal::Bool(false)) && self.effects(body, wanted)
                }
                _ => false,
            };
            wanted.extend(acts.then_some(id));
        }
        wanted.len() > before
    }

    /// Notes what an operation's text mentions.
    fn mention(&mut self, id: OpId, wanted: &mut Vec<OpId>) {
        let kind = &self.kernel.ops[id].kind;
        let mut values = kind.operands();
        if let OpKind::Loop(l) = kind {
            values.extend(&l.yields);
        }
        if let Some(place) = kind.place() {
            values.extend(self.kernel.views[place.view].shape.iter().filter_map(|extent| extent.limit));
        }
        for value in values {
            let value = self.stands_for(value);
            if self.constant(value).is_some() {
                continue;
            }
            self.values[value.index()] = true;
            match self.kernel.defs[value].origin {
                Origin::Result(op, _) | Origin::Index(op) | Origin::Carried(op, _) => wanted.push(op),
                Origin::Literal(_) | Origin::Builtin(_) | Origin::Argument(_) => {}
            }
        }
    }
}
