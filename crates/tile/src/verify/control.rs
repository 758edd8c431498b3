//! Step 3: barriers and collectives are reached by everybody they need.

use crate::ir::{Kernel, OpId, OpKind, Scope};
use crate::types::Type;

use super::Findings;
use super::analysis::{Analysis, Context, Varies};
use super::rule::{Level, Rule};

pub(super) fn check(kernel: &Kernel, analysis: &Analysis, findings: &mut Findings<'_>) {
    kernel.walk(|id, _| {
        let op = &kernel.ops[id];
        let context = analysis.context(id);
        if let Some(level) = needs(&op.kind)
            && blocks(level, context.control)
        {
            let why = why(kernel, analysis, &context, level, findings);
            findings.at(id, Rule::Divergent { level, why });
        }
        // What is spread into a fragment or a tile must be one number.
        if let OpKind::Splat(value) = op.kind
            && op.results.iter().any(|&r| match kernel.ty(r) {
                Type::Matrix(_) => analysis.varies(value).lane,
                Type::Tile => analysis.varies(value).lane || analysis.varies(value).simd,
                Type::Scalar(_) | Type::Vector(..) => false,
            })
        {
            let what = findings.names.of(value).to_owned();
            findings.at(id, Rule::LaneVaries { what });
        }
    });
}

/// Who must be there together, if anybody.
pub(super) const fn needs(kind: &OpKind) -> Option<Level> {
    match kind {
        OpKind::Barrier(Scope::Group) | OpKind::TileMultiply { .. } | OpKind::TileStore { .. } => {
            Some(Level::Threads)
        }
        OpKind::Barrier(Scope::Simd)
        | OpKind::Shuffle(..)
        | OpKind::SimdReduce(..)
        | OpKind::MatrixLoad { .. }
        | OpKind::MatrixStore { .. }
        | OpKind::MatrixMultiply(..) => Some(Level::Lanes),
        // Each thread waits for itself.
        OpKind::Barrier(Scope::Launch)
        | OpKind::Math(..)
        | OpKind::Arithmetic(..)
        | OpKind::Compare(..)
        | OpKind::Fma(..)
        | OpKind::Select(..)
        | OpKind::Cast(_)
        | OpKind::Bitcast(_)
        | OpKind::Splat(_)
        | OpKind::Compose(_)
        | OpKind::Extract(..)
        | OpKind::Dot4(..)
        | OpKind::Load(_)
        | OpKind::Store(..)
        | OpKind::Loop(_)
        | OpKind::When(..) => None,
    }
}

const fn blocks(level: Level, control: Varies) -> bool {
    match level {
        Level::Lanes => control.lane,
        Level::Threads => control.lane || control.simd,
    }
}

/// The innermost condition or loop that not all take alike.
fn why(
    kernel: &Kernel,
    analysis: &Analysis,
    context: &Context,
    level: Level,
    findings: &Findings<'_>,
) -> String {
    let condition = context.conditions.iter().rev().find(|&&c| blocks(level, analysis.varies(c)));
    if let Some(&condition) = condition {
        return format!("when {}", findings.names.of(condition));
    }
    let diverges = |op: &&OpId| match &kernel.ops[**op].kind {
        OpKind::Loop(l) => blocks(level, analysis.varies(l.start).join(analysis.varies(l.end))),
        _ => false,
    };
    let op = context.loops.iter().rev().find(diverges);
    op.map_or(String::new(), |&op| findings.describe(op))
}
