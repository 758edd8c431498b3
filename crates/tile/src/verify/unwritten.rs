//! Step 3: shared memory is written before it is read.
//!
//! The walk keeps, for each allocation, the ranges that some thread has certainly written. A write in a loop or under
//! a condition counts for a read in a loop up to the same end or under the same condition, since then either both
//! happen or neither. Whether a range was written without holes is left to the interpreter.

use std::collections::BTreeMap;

use crate::arena::Handle;
use crate::ir::{Block, Kernel, Loop, OpId, OpKind, Shared, Space, ValueId};

use super::Findings;
use super::analysis::{Analysis, Span};
use super::facts::Facts;
use super::rule::Rule;
use super::touch::touches;

/// Why something may not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum If {
    /// The condition holds.
    Holds(ValueId),
    /// A loop from zero up to this value makes a pass.
    Reaches(ValueId),
}

#[derive(Clone, Debug)]
struct Written {
    range: Span,
    only_if: Vec<If>,
}

type State = BTreeMap<Handle<Shared>, Vec<Written>>;

struct Walk<'a, 'f, 'k> {
    kernel: &'a Kernel,
    analysis: &'a Analysis,
    facts: &'a Facts,
    around: Vec<If>,
    findings: &'f mut Findings<'k>,
}

pub(super) fn check(kernel: &Kernel, analysis: &Analysis, facts: &Facts, findings: &mut Findings<'_>) {
    let mut walk = Walk { kernel, analysis, facts, around: Vec::new(), findings };
    walk.block(&kernel.body, &mut State::new());
}

impl Walk<'_, '_, '_> {
    fn block(&mut self, block: &Block, state: &mut State) {
        for &id in block {
            match &self.kernel.ops[id].kind {
                OpKind::Loop(l) => {
                    let surely = self.some_thread_enters(l);
                    self.inside(&l.body, (!surely).then_some(If::Reaches(l.end)), state);
                }
                OpKind::When(condition, body) => {
                    let surely = self.some_thread_has(*condition);
                    self.inside(body, (!surely).then_some(If::Holds(*condition)), state);
                }
                _ => self.touch(id, state),
            }
        }
    }

    fn inside(&mut self, body: &Block, only_if: Option<If>, state: &mut State) {
        self.around.extend(only_if);
        self.block(body, state);
        if only_if.is_some() {
            self.around.pop();
        }
    }

    /// Whether a loop makes a pass in at least one thread.
    fn some_thread_enters(&self, l: &Loop) -> bool {
        let span = |v: ValueId| self.analysis.integer(v).map_or(Span::I32, |i| i.span);
        let more = if l.whole { i64::from(l.step) } else { 1 };
        let start = self.analysis.integer(l.start);
        // Of a start that depends on the thread alone, the smallest is some thread's.
        let first = match start.and_then(|i| i.form.known()) {
            Some(table) => table.bounds().0,
            None => span(l.start).high,
        };
        first + more <= span(l.end).low
    }

    fn some_thread_has(&self, condition: ValueId) -> bool {
        self.analysis.threads_where(condition).is_some_and(|table| table.bounds().1 != 0)
    }

    fn touch(&mut self, id: OpId, state: &mut State) {
        for touch in touches(self.kernel, self.analysis, self.facts, id) {
            let Space::Shared(shared) = touch.space() else { continue };
            if touch.scratch {
                // Its contents are the fragment's own and lost afterwards.
                state.remove(&shared);
                continue;
            }
            let range = touch.reach();
            let written = state.entry(shared).or_default();
            if touch.write {
                let mask = self.kernel.ops[id].kind.place().and_then(|p| p.mask);
                let surely = mask.is_none_or(|m| self.some_thread_has(m));
                let mut only_if = self.around.clone();
                only_if.extend(mask.filter(|_| !surely).map(If::Holds));
                written.push(Written { range, only_if });
            } else if !covered(range, written, &self.around) {
                let name = self.kernel.shared[shared].name.clone();
                self.findings.at(id, Rule::Uninitialized { name, span: range });
            }
        }
    }
}

/// Whether a range lies within the ranges written under conditions that hold `around` the read.
fn covered(range: Span, written: &[Written], around: &[If]) -> bool {
    let mut ranges: Vec<(i64, i64)> = written
        .iter()
        .filter(|w| w.only_if.iter().all(|i| around.contains(i)))
        .map(|w| (w.range.low, w.range.high))
        .collect();
    ranges.sort_unstable();
    let mut reached = range.low;
    for (low, high) in ranges {
        if low <= reached {
            reached = reached.max(high + 1);
        }
    }
    range.is_empty() || reached > range.high
}
