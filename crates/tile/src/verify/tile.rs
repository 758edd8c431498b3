//! Step 3: tiles have their threads and views, one kind of product, and one use each.
//!
//! A device adds to a tile where it is. So what takes a tile uses it up, in the block in which it was made: then a variable
//! that is changed means the same as values that are not.

use crate::arena::Handle;
use crate::ir::{Block, Kernel, OpId, OpKind, Origin, Space, ValueId, View};
use crate::types::{Scalar, Type};

use super::Findings;
use super::rule::Rule;

/// Rows and columns.
const SIDE: u32 = 64;

pub(super) fn check(kernel: &Kernel, findings: &mut Findings<'_>) {
    let mut kinds = Vec::new();
    kernel.walk(|id, _| {
        let simd_groups = kernel.launch.simd_groups();
        match &kernel.ops[id].kind {
            OpKind::TileMultiply { left, right, transposed, .. } => {
                for view in [*left, *right] {
                    factor(kernel, id, view, findings);
                }
                let [left, right] = [*left, *right].map(|view| kernel.views[view].element);
                kinds.push((id, (left, right, *transposed)));
            }
            OpKind::TileStore { to, .. } => {
                let view = &kernel.views[*to];
                if view.element != Scalar::F32 || !is_tile(view) || !view.access.writes() {
                    findings.at(id, Rule::TileView { name: view.name.clone(), expected: "f32" });
                }
            }
            OpKind::Splat(_) if kernel.ty(kernel.ops[id].results[0]) == Type::Tile => {}
            _ => return,
        }
        if simd_groups != 4 {
            findings.at(id, Rule::TileThreads { simd_groups });
        }
    });
    if let Some((_, first)) = kinds.first() {
        for (id, kind) in &kinds {
            if kind != first || kind.0 != kind.1 {
                findings.at(*id, Rule::TileMixed);
            }
        }
    }
    uses(kernel, &kernel.body, &[], &[], None, findings);
}

fn factor(kernel: &Kernel, id: OpId, view: Handle<View>, findings: &mut Findings<'_>) {
    let view = &kernel.views[view];
    if !view.element.is_float() || !is_tile(view) || !view.access.reads() {
        findings.at(id, Rule::TileView { name: view.name.clone(), expected: "f32, f16 or bf16" });
    }
}

fn is_tile(view: &View) -> bool {
    let extents = view.shape.iter().map(|extent| (extent.size, extent.limit));
    matches!(view.space, Space::Shared(_))
        && extents.eq([(SIDE, None); 2])
        && view.strides == [u64::from(SIDE), 1]
        && !view.guarded.contains(&true)
        && (view.offset * u64::from(view.element.bytes())).is_multiple_of(16)
}

/// Judges the tiles made in a block: `made` before its first operation, `handed` on after its last.
fn uses(
    kernel: &Kernel,
    block: &Block,
    made: &[ValueId],
    handed: &[ValueId],
    at: Option<OpId>,
    findings: &mut Findings<'_>,
) {
    let tiles = |values: &[ValueId]| -> Vec<ValueId> {
        values.iter().copied().filter(|value| kernel.ty(*value) == Type::Tile).collect()
    };
    let mut used = tiles(handed);
    let mut judged: Vec<(ValueId, Option<OpId>)> = tiles(made).into_iter().map(|value| (value, at)).collect();
    for &id in block {
        let op = &kernel.ops[id];
        used.extend(tiles(&op.kind.operands()));
        judged.extend(tiles(&op.results).into_iter().map(|value| (value, Some(id))));
        match &op.kind {
            OpKind::Loop(l) => {
                for (&carried, &yielded) in l.carried.iter().zip(&l.yields) {
                    if kernel.ty(carried) == Type::Tile && filled(kernel, yielded) != filled(kernel, carried)
                    {
                        findings.at(id, Rule::TileMoved);
                    }
                }
                uses(kernel, &l.body, &l.carried, &l.yields, Some(id), findings);
            }
            OpKind::When(_, body) => uses(kernel, body, &[], &[], Some(id), findings),
            _ => {}
        }
    }
    for (value, id) in judged {
        let (here, all) = (used.iter().filter(|other| **other == value).count(), everywhere(kernel, value));
        if let Some(id) = id.filter(|_| all > 1 || here != all) {
            findings.at(id, Rule::TileReused { what: findings.names.of(value).to_owned(), uses: all });
        }
    }
}

/// Where the tile was filled that a value has become.
pub(crate) fn filled(kernel: &Kernel, value: ValueId) -> ValueId {
    let of = |op: OpId, n: u32| match &kernel.ops[op].kind {
        OpKind::TileMultiply { sum, .. } => Some(*sum),
        OpKind::Loop(l) => l.init.get(n as usize).copied(),
        _ => None,
    };
    let before = match kernel.defs[value].origin {
        Origin::Result(op, n) | Origin::Carried(op, n) => of(op, n),
        _ => None,
    };
    before.map_or(value, |before| filled(kernel, before))
}

/// How often a value is used in the whole kernel.
fn everywhere(kernel: &Kernel, value: ValueId) -> usize {
    let mut count = 0;
    kernel.walk(|id, _| {
        let kind = &kernel.ops[id].kind;
        count += kind.operands().iter().filter(|other| **other == value).count();
        if let OpKind::Loop(l) = kind {
            count += l.yields.iter().filter(|other| **other == value).count();
        }
    });
    count
}
