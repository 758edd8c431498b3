//! Step 3: operations that some integers have no result for.

use crate::ir::{Arithmetic, Kernel, OpId, OpKind, Shuffle, ValueId};

use super::Findings;
use super::analysis::{Analysis, Span};
use super::rule::Rule;

pub(super) fn check(kernel: &Kernel, analysis: &Analysis, findings: &mut Findings<'_>) {
    kernel.walk(|id, _| op(kernel, analysis, id, findings));
}

fn op(kernel: &Kernel, analysis: &Analysis, id: OpId, findings: &mut Findings<'_>) {
    let context = analysis.context(id);
    let span = |v: ValueId| analysis.refine(kernel, v, &context.conditions).span;
    match &kernel.ops[id].kind {
        OpKind::Arithmetic(op @ (Arithmetic::Div | Arithmetic::Rem), _, b) => {
            if !kernel.ty(*b).scalar().is_word() {
                return;
            }
            // Vectors of integers carry no spans: every element must come from a splat of a known one.
            let divisor = analysis.integer(*b).map_or(splat_span(kernel, analysis, *b), |_| span(*b));
            let zero = divisor.low <= 0 && divisor.high >= 0;
            // The smallest i32 over minus one overflows.
            let minus =
                divisor.low <= -1 && divisor.high >= -1 && kernel.ty(*b).scalar() == crate::Scalar::I32;
            if zero || minus {
                let _ = op;
                findings.at(id, Rule::Divisor { span: divisor });
            }
        }
        OpKind::Arithmetic(Arithmetic::Shl | Arithmetic::Shr, _, b) => {
            let amount = analysis.integer(*b).map_or(splat_span(kernel, analysis, *b), |_| span(*b));
            if !amount.within(0, 31) {
                findings.at(id, Rule::Shift { span: amount });
            }
        }
        OpKind::Shuffle(Shuffle::Lane(lane), _) => {
            let lane = span(*lane);
            if !lane.within(0, 31) {
                findings.at(id, Rule::Lane { span: lane });
            }
        }
        OpKind::Shuffle(Shuffle::Xor(n) | Shuffle::Down(n), _) if *n > 31 => {
            findings.at(id, Rule::Lane { span: Span::of(i64::from(*n)) });
        }
        OpKind::Loop(l) => {
            let index = analysis.integer(l.index);
            if l.step == 0 || index.is_none_or(|i| i.wrapped) {
                let span = index.map_or(Span::I32, |i| i.span);
                findings.at(id, Rule::Step { span, step: l.step });
            }
        }
        _ => {}
    }
}

/// What the elements of a vector can be, when it is a splat.
fn splat_span(kernel: &Kernel, analysis: &Analysis, value: ValueId) -> Span {
    if let crate::ir::Origin::Result(op, _) = kernel.defs[value].origin
        && let OpKind::Splat(scalar) = kernel.ops[op].kind
    {
        return analysis.integer(scalar).map_or(Span::I32, |i| i.span);
    }
    Span::I32
}
