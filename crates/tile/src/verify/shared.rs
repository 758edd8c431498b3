//! Step 3: between a write to shared memory and what another thread does with the element stands a barrier.
//!
//! The walk follows the program with the set of touches since the last barrier. A touch is compared with every touch
//! in the set, itself included, for threads of one SIMD group (unless a SIMD barrier came between) and of different
//! ones. A `when` may be skipped, a loop may run no pass, so what was in the set before stays in it. A loop's body is
//! walked twice, the second time with the touches of a pass before: the set is then complete, because a further pass
//! brings nothing that is not in it.
//!
//! Loops whose every pass meets a barrier keep their threads together: in them both threads see the same loop
//! counters, or, across the end of a pass, counters one apart. In all other loops each thread has its own.

use std::collections::BTreeSet;

use crate::ir::{Block, Kernel, Loop, OpId, OpKind, Origin, Scope, Space, ValueId};

use super::analysis::{Analysis, Form, Span, Symbol};
use super::facts::Facts;
use super::overlap::{Pair, Seen, Sight, can_meet};
use super::rule::Rule;
use super::touch::{Touch, touches};
use super::{Findings, analysis};

/// A touch since the last barrier.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Recent {
    op: OpId,
    /// Which of the operation's touches.
    which: usize,
    /// Loops whose end of a pass lies between.
    laps: BTreeSet<OpId>,
    /// Whether a SIMD barrier lies between.
    simd_ordered: bool,
}

type State = BTreeSet<Recent>;

struct Walk<'a, 'f, 'k> {
    kernel: &'a Kernel,
    analysis: &'a Analysis,
    touches: Vec<Option<Vec<Touch>>>,
    facts: &'a Facts,
    together: BTreeSet<OpId>,
    findings: &'f mut Findings<'k>,
}

pub(super) fn check(kernel: &Kernel, analysis: &Analysis, facts: &Facts, findings: &mut Findings<'_>) {
    if kernel.shared.is_empty() {
        return;
    }
    let mut together = BTreeSet::new();
    kernel.walk(|id, _| {
        if let OpKind::Loop(l) = &kernel.ops[id].kind
            && meets_barrier(kernel, analysis, &l.body)
        {
            together.insert(id);
        }
    });
    let touches = vec![None; kernel.ops.len()];
    let mut walk = Walk { kernel, analysis, touches, facts, together, findings };
    walk.block(&kernel.body, State::new());
}

/// Whether every way through a block passes a threadgroup barrier.
fn meets_barrier(kernel: &Kernel, analysis: &Analysis, block: &Block) -> bool {
    block.iter().any(|&id| match &kernel.ops[id].kind {
        OpKind::Barrier(Scope::Group) => true,
        OpKind::Loop(l) => runs(analysis, l) && meets_barrier(kernel, analysis, &l.body),
        _ => false,
    })
}

/// Whether every thread makes at least one pass.
pub(super) fn runs(analysis: &Analysis, l: &Loop) -> bool {
    let span = |v: ValueId| analysis.integer(v).map_or(Span::I32, |i| i.span);
    let more = if l.whole { i64::from(l.step) } else { 1 };
    span(l.start).high + more <= span(l.end).low
}

impl Walk<'_, '_, '_> {
    fn block(&mut self, block: &Block, mut state: State) -> State {
        for &id in block {
            match &self.kernel.ops[id].kind {
                OpKind::Barrier(Scope::Group) => state.clear(),
                OpKind::Barrier(Scope::Simd) => {
                    state = state.into_iter().map(|r| Recent { simd_ordered: true, ..r }).collect();
                }
                OpKind::When(_, body) => {
                    let after = self.block(body, state.clone());
                    state.extend(after);
                }
                OpKind::Loop(l) => state = self.repeat(id, l, state),
                _ => self.touch(id, &mut state),
            }
        }
        state
    }

    fn repeat(&mut self, id: OpId, l: &Loop, state: State) -> State {
        let first = self.block(&l.body, state.clone());
        let lap = |mut recent: Recent| {
            if self.analysis.context(recent.op).loops.contains(&id) {
                recent.laps.insert(id);
            }
            recent
        };
        let lapped: State = first.iter().cloned().map(lap).collect();
        let second = self.block(&l.body, lapped);
        let mut after = if runs(self.analysis, l) { State::new() } else { state };
        after.extend(first.into_iter().chain(second).map(|mut recent| {
            recent.laps.remove(&id);
            recent
        }));
        after
    }

    fn touches(&mut self, id: OpId) -> Vec<Touch> {
        let (kernel, analysis, facts) = (self.kernel, self.analysis, self.facts);
        let compute = || touches(kernel, analysis, facts, id);
        let of_shared = |list: Vec<Touch>| -> Vec<Touch> {
            list.into_iter().filter(|t| matches!(t.space(), Space::Shared(_))).collect()
        };
        self.touches[id.index()].get_or_insert_with(|| of_shared(compute())).clone()
    }

    fn touch(&mut self, id: OpId, state: &mut State) {
        for (which, touch) in self.touches(id).iter().enumerate() {
            state.insert(Recent { op: id, which, laps: BTreeSet::new(), simd_ordered: false });
            for recent in state.iter() {
                let Some(earlier) =
                    self.touches[recent.op.index()].as_ref().and_then(|t| t.get(recent.which))
                else {
                    continue;
                };
                let concerns = earlier.space() == touch.space() && (earlier.write || touch.write);
                if concerns && self.races(recent, earlier, touch) {
                    let rule = self.rule(recent, earlier, touch);
                    self.findings.at(id, rule);
                }
            }
        }
    }

    fn races(&self, recent: &Recent, earlier: &Touch, later: &Touch) -> bool {
        let sight = SharedSight { walk: self, laps: &recent.laps };
        // One operation of one SIMD group does not race with itself, and scratch is ordered within it.
        let itself = recent.op == later.op && recent.laps.is_empty() && later.collective;
        let ordered = recent.simd_ordered || itself || earlier.scratch || later.scratch;
        // Nor does one of the whole threadgroup, in one pass.
        if itself && later.whole {
            return false;
        }
        (!ordered && can_meet(earlier, later, Pair::SameSimd, &sight))
            || can_meet(earlier, later, Pair::OtherSimd, &sight)
    }

    fn rule(&self, recent: &Recent, earlier: &Touch, later: &Touch) -> Rule {
        let Space::Shared(shared) = later.space() else { return Rule::Mistake(String::new()) };
        let name = self.kernel.shared[shared].name.clone();
        let place = self.findings.describe(recent.op);
        if earlier.scratch || later.scratch {
            return Rule::ScratchShared { name, place };
        }
        Rule::SharedRace { name, other: if earlier.write { "write" } else { "read" }, place }
    }
}

struct SharedSight<'a, 'w, 'f, 'k> {
    walk: &'a Walk<'w, 'f, 'k>,
    laps: &'a BTreeSet<OpId>,
}

/// The loops in whose passes a symbol can change.
pub(super) fn loops_of(kernel: &Kernel, analysis: &Analysis, symbol: Symbol) -> Vec<OpId> {
    let within = |op: OpId| {
        let mut loops = analysis.context(op).loops.clone();
        loops.push(op);
        loops
    };
    match symbol {
        Symbol::Counter(op) => within(op),
        Symbol::Value(value) => match kernel.defs[value].origin {
            Origin::Result(op, _) => analysis.context(op).loops.clone(),
            Origin::Index(op) | Origin::Carried(op, _) => within(op),
            Origin::Literal(_) | Origin::Builtin(_) | Origin::Argument(_) => Vec::new(),
        },
    }
}

impl Sight for SharedSight<'_, '_, '_, '_> {
    fn seen(&self, symbol: Symbol, pair: Pair) -> Seen {
        let Walk { kernel, analysis, together, .. } = self.walk;
        let varies = analysis.symbol_varies(kernel, symbol);
        if varies.lane || varies.simd && pair != Pair::SameSimd {
            return Seen::Independent;
        }
        let loops = loops_of(kernel, analysis, symbol);
        if loops.iter().any(|l| !together.contains(l)) {
            return Seen::Independent;
        }
        match loops.iter().filter(|l| self.laps.contains(l)).collect::<Vec<_>>().as_slice() {
            [] => Seen::Alike,
            [only] if symbol == Symbol::Counter(**only) => Seen::OneBefore,
            _ => Seen::Independent,
        }
    }

    fn span(&self, symbol: Symbol) -> Span {
        self.walk.analysis.symbol_span(symbol)
    }

    fn form(&self, value: ValueId) -> Option<Form> {
        self.walk.analysis.integer(value).map(|i: &analysis::Integer| i.form.clone())
    }
}
