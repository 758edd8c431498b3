//! 8×8 fragments as `simdgroup_matrix`.

use crate::emit::address::Coordinate;
use crate::emit::dialect::{Fragments, Lanes, Types};
use crate::emit::writer::Writer;
use crate::ir::{OpId, OpKind, Place, Scope, ValueId, View};
use crate::types::Type;

use super::Msl;

fn declare(out: &mut Writer<'_, Msl>, result: ValueId) -> String {
    let name = out.value(result);
    out.line(format!("{} {name};", Msl.ty(out.kernel.ty(result))));
    name
}

/// A fragment in memory, and its way through scratch.
struct Tile<'a> {
    view: &'a View,
    coordinates: Vec<Coordinate>,
    memory: String,
    stride: u64,
}

impl<'a> Tile<'a> {
    fn new(out: &Writer<'a, Msl>, place: &Place) -> Self {
        let view = &out.kernel.views[place.view];
        let (memory, _) = out.memory(view);
        let stride = view.strides[view.strides.len() - 2];
        Self { view, coordinates: out.coordinates(place), memory, stride }
    }

    fn pointer(&self, out: &Writer<'_, Msl>) -> String {
        format!("{} + {}", self.memory, out.element(self.view, &self.coordinates))
    }

    /// The condition under which the whole fragment is inside; nothing where that is proven.
    fn complete(&self, out: &Writer<'_, Msl>, op: OpId) -> Option<String> {
        let rank = self.coordinates.len();
        let axis = |(n, guard): (usize, &crate::verify::AxisGuard)| {
            let width = if n + 2 < rank { 1 } else { 8 };
            out.inside(self.view, n, guard.low, guard.high, &self.coordinates[n].text(), width)
        };
        let parts: Vec<String> = out.facts.guards(op).iter().enumerate().filter_map(axis).collect();
        (!parts.is_empty()).then(|| parts.join(" && "))
    }

    /// Row and column of element `e` of the fragment, and the condition for it to be inside.
    fn element(&self, out: &Writer<'_, Msl>, op: OpId) -> (String, String) {
        let rank = self.coordinates.len();
        let mut coordinates = self.coordinates.clone();
        coordinates[rank - 2] = coordinates[rank - 2].plus("e / 8");
        coordinates[rank - 1] = coordinates[rank - 1].plus("e % 8");
        let axis = |(n, guard): (usize, &crate::verify::AxisGuard)| {
            out.inside(self.view, n, guard.low, guard.high, &coordinates[n].text(), 1)
        };
        let parts: Vec<String> = out.facts.guards(op).iter().enumerate().filter_map(axis).collect();
        let element = format!("{}[{}]", self.memory, out.element(self.view, &coordinates));
        (element, parts.join(" && "))
    }
}

/// The SIMD group's own part of the scratch of an operation.
fn scratch(out: &Writer<'_, Msl>, op: OpId) -> String {
    let scratch = match &out.kernel.ops[op].kind {
        OpKind::MatrixLoad { scratch, .. } | OpKind::MatrixStore { scratch, .. } => scratch.as_ref(),
        _ => None,
    };
    let Some(view) = scratch.map(|s| &out.kernel.views[s.view]) else { return String::new() };
    let (memory, _) = out.memory(view);
    let offset = if view.offset == 0 { String::new() } else { format!("{} + ", view.offset) };
    format!("{memory} + {offset}simd_group * 64")
}

/// Whether a kernel has fragments that need `lane` and `simd_group` for their scratch.
pub(super) fn uses_scratch(out: &Writer<'_, Msl>) -> bool {
    out.said.ops().any(|(id, kind)| {
        let fragment = matches!(kind, OpKind::MatrixLoad { .. } | OpKind::MatrixStore { .. });
        fragment && !out.facts.is_proven(id)
    })
}

impl Fragments for Msl {
    fn matrix_each(
        &self,
        out: &mut Writer<'_, Msl>,
        result: ValueId,
        operands: &[ValueId],
        element: &dyn Fn(&[String]) -> String,
    ) {
        let name = declare(out, result);
        for n in 0..2 {
            let of = |&v: &ValueId| match out.kernel.ty(v) {
                Type::Matrix(_) => format!("{}.thread_elements()[{n}]", out.value(v)),
                Type::Scalar(_) | Type::Vector(..) | Type::Tile => out.value(v),
            };
            let operands: Vec<String> = operands.iter().map(of).collect();
            out.line(format!("{name}.thread_elements()[{n}] = {};", element(&operands)));
        }
    }

    fn matrix_splat(&self, out: &mut Writer<'_, Msl>, result: ValueId, value: &str) {
        let scalar = Msl.scalar(out.kernel.ty(result).scalar());
        out.define(result, &format!("make_filled_simdgroup_matrix<{scalar}, 8, 8>({value})"));
    }

    fn matrix_multiply(
        &self,
        out: &mut Writer<'_, Msl>,
        result: ValueId,
        [a, b]: [ValueId; 2],
        sum: ValueId,
    ) {
        let name = declare(out, result);
        let (a, b, sum) = (out.value(a), out.value(b), out.value(sum));
        out.line(format!("simdgroup_multiply_accumulate({name}, {a}, {b}, {sum});"));
    }

    fn matrix_load(
        &self,
        out: &mut Writer<'_, Msl>,
        op: OpId,
        result: ValueId,
        from: &Place,
        transposed: bool,
    ) {
        let tile = Tile::new(out, from);
        let name = declare(out, result);
        let extra = if transposed { ", ulong2(0, 0), true" } else { "" };
        let direct = format!("simdgroup_load({name}, {}, {}{extra});", tile.pointer(out), tile.stride);
        let Some(complete) = tile.complete(out, op) else {
            out.line(direct);
            return;
        };
        let (scratch, barrier) = (scratch(out, op), Msl.barrier(Scope::Simd));
        let (element, inside) = tile.element(out, op);
        let fill = Msl.literal(tile.view.fill);
        out.enter(format!("if ({complete})"));
        out.line(direct);
        out.otherwise();
        out.line(barrier);
        out.enter("for (int e = lane; e < 64; e += 32)");
        out.line(format!("({scratch})[e] = {inside} ? {element} : {fill};"));
        out.close();
        out.line(barrier);
        out.line(format!("simdgroup_load({name}, {scratch}, 8{extra});"));
        out.line(barrier);
        out.close();
    }

    fn matrix_store(&self, out: &mut Writer<'_, Msl>, op: OpId, to: &Place, value: ValueId) {
        let tile = Tile::new(out, to);
        let name = out.value(value);
        let direct = format!("simdgroup_store({name}, {}, {});", tile.pointer(out), tile.stride);
        let Some(complete) = tile.complete(out, op) else {
            out.line(direct);
            return;
        };
        let (scratch, barrier) = (scratch(out, op), Msl.barrier(Scope::Simd));
        let (element, inside) = tile.element(out, op);
        out.enter(format!("if ({complete})"));
        out.line(direct);
        out.otherwise();
        out.line(barrier);
        out.line(format!("simdgroup_store({name}, {scratch}, 8);"));
        out.line(barrier);
        out.enter("for (int e = lane; e < 64; e += 32)");
        out.line(format!("if ({inside}) {element} = ({scratch})[e];"));
        out.close();
        out.line(barrier);
        out.close();
    }
}
