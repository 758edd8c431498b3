//! What is known of every value before the kernel runs.
//!
//! One forward pass over the program. For integers: the interval and remainder they stay in ([`Span`]), how they
//! depend on the thread ([`Form`]), run-time values they stay below, and whether they may have wrapped. For every
//! value: what it can differ with (lane, SIMD group, threadgroup). For every operation: the loops and conditions
//! around it.
//!
//! Loops are run until nothing changes, growing intervals to the end of the type when they keep moving.

mod evaluate;
mod flow;
mod form;
mod integer;
mod refine;
mod span;

use std::rc::Rc;

use crate::ir::{Kernel, OpId, OpKind, ValueId};

pub use form::{Form, Symbol, Table};
pub use refine::{Bounded, Refined};
pub use span::Span;

/// What a value can differ with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Varies {
    /// Between lanes of a SIMD group.
    pub lane: bool,
    /// Between SIMD groups, at one lane.
    pub simd: bool,
    /// Between threadgroups.
    pub group: bool,
}

impl Varies {
    /// The same everywhere in the launch.
    pub const NONE: Self = Self { lane: false, simd: false, group: false };
    /// Different between threadgroups only.
    pub const GROUP: Self = Self { group: true, ..Self::NONE };

    /// What either differs with.
    pub const fn join(self, other: Self) -> Self {
        Self {
            lane: self.lane || other.lane,
            simd: self.simd || other.simd,
            group: self.group || other.group,
        }
    }

    /// Whether all threads of a threadgroup agree.
    pub const fn uniform(self) -> bool {
        !self.lane && !self.simd
    }
}

/// What is known of one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// What it can differ with.
    pub varies: Varies,
    /// For i32, u32 and bool.
    pub integer: Option<Integer>,
}

/// What is known of an integer; a bool counts as 0 or 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Integer {
    /// What it can be.
    pub span: Span,
    /// How it depends on the thread.
    pub form: Form,
    /// Whether an i32 operation on the way to it may have left the range.
    pub wrapped: bool,
}

/// What surrounds the operations of a block.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// What reaching the block depends on.
    pub control: Varies,
    /// Conditions that hold in the block.
    pub conditions: Vec<ValueId>,
    /// Loops around the block, outermost first.
    pub loops: Vec<OpId>,
}

/// The result of the pass.
#[derive(Clone, Debug)]
pub struct Analysis {
    facts: Vec<Option<Fact>>,
    contexts: Vec<Option<Rc<Context>>>,
    /// Most passes of each loop, by operation.
    passes: Vec<i64>,
}

impl Analysis {
    /// Runs the pass; the structure and types must have been checked.
    pub fn new(kernel: &Kernel) -> Self {
        flow::run(kernel)
    }

    /// What is known of a value.
    pub fn fact(&self, value: ValueId) -> &Fact {
        const UNKNOWN: Fact = Fact { varies: Varies { lane: true, simd: true, group: true }, integer: None };
        self.facts[value.index()].as_ref().unwrap_or(&UNKNOWN)
    }

    /// What is known of an i32, u32 or bool.
    pub fn integer(&self, value: ValueId) -> Option<&Integer> {
        self.fact(value).integer.as_ref()
    }

    /// What a value can differ with.
    pub fn varies(&self, value: ValueId) -> Varies {
        self.fact(value).varies
    }

    /// What surrounds an operation.
    pub fn context(&self, op: OpId) -> Rc<Context> {
        self.contexts[op.index()].clone().unwrap_or_default()
    }

    /// The span of a symbol.
    pub fn symbol_span(&self, symbol: Symbol) -> Span {
        match symbol {
            Symbol::Value(value) => self.integer(value).map_or(Span::I32, |i| i.span),
            Symbol::Counter(op) => Span::between(0, (self.passes[op.index()] - 1).max(0)),
        }
    }

    /// What a symbol can differ with at one time.
    pub fn symbol_varies(&self, kernel: &Kernel, symbol: Symbol) -> Varies {
        match symbol {
            Symbol::Value(value) => self.varies(value),
            Symbol::Counter(op) => match &kernel.ops[op].kind {
                OpKind::Loop(l) => self.varies(l.start).join(self.varies(l.end)),
                _ => Varies::NONE,
            },
        }
    }

    /// The threads of a threadgroup for which a bool holds, where that is known; all others as `None`.
    pub fn threads_where(&self, condition: ValueId) -> Option<Table> {
        self.integer(condition)?.form.known().cloned()
    }
}
