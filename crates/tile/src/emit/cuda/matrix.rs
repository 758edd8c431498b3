//! 8×8 fragments as two elements a lane.

use crate::emit::address::Coordinate;
use crate::emit::dialect::{Fragments, Types};
use crate::emit::writer::Writer;
use crate::ir::{OpId, Place, ValueId};
use crate::types::{Scalar, Type};

use super::Cuda;

const PARTS: [&str; 2] = ["x", "y"];

fn make(out: &Writer<'_, Cuda>, result: ValueId, parts: [String; 2]) -> String {
    out.dialect.compose(out.kernel.ty(result), &parts)
}

/// The two elements of this lane: where they are and when they are inside.
fn elements(
    out: &Writer<'_, Cuda>,
    op: OpId,
    place: &Place,
    transposed: bool,
) -> [(String, Option<String>); 2] {
    let view = &out.kernel.views[place.view];
    let rank = view.shape.len();
    let (memory, _) = out.memory(view);
    [0, 1].map(|n| {
        let mut coordinates: Vec<Coordinate> = out.coordinates(place);
        let along = if n == 0 { "fragment_column" } else { "fragment_column + 1" };
        let (row, column) = if transposed { (along, "fragment_row") } else { ("fragment_row", along) };
        coordinates[rank - 2] = coordinates[rank - 2].plus(row);
        coordinates[rank - 1] = coordinates[rank - 1].plus(column);
        let axis = |(n, guard): (usize, &crate::verify::AxisGuard)| {
            out.inside(view, n, guard.low, guard.high, &coordinates[n].text(), 1)
        };
        let parts: Vec<String> = out.facts.guards(op).iter().enumerate().filter_map(axis).collect();
        let element = format!("{memory}[{}]", out.element(view, &coordinates));
        (element, (!parts.is_empty()).then(|| parts.join(" && ")))
    })
}

impl Fragments for Cuda {
    fn matrix_each(
        &self,
        out: &mut Writer<'_, Cuda>,
        result: ValueId,
        operands: &[ValueId],
        element: &dyn Fn(&[String]) -> String,
    ) {
        let part = |n: &str| {
            let of = |&v: &ValueId| match out.kernel.ty(v) {
                Type::Matrix(_) => format!("{}.{n}", out.value(v)),
                Type::Scalar(_) | Type::Vector(..) | Type::Tile => out.value(v),
            };
            element(&operands.iter().map(of).collect::<Vec<String>>())
        };
        let text = make(out, result, PARTS.map(part));
        out.define(result, &text);
    }

    fn matrix_splat(&self, out: &mut Writer<'_, Cuda>, result: ValueId, value: &str) {
        let text = make(out, result, [value.to_owned(), value.to_owned()]);
        out.define(result, &text);
    }

    fn matrix_multiply(
        &self,
        out: &mut Writer<'_, Cuda>,
        result: ValueId,
        factors: [ValueId; 2],
        sum: ValueId,
    ) {
        let wide = |v: ValueId| match out.kernel.ty(v).scalar() {
            Scalar::F16 => format!("tile_f16x2_to_f32({})", out.value(v)),
            Scalar::Bf16 => format!("tile_bf16x2_to_f32({})", out.value(v)),
            _ => out.value(v),
        };
        let [a, b] = factors.map(wide);
        let text = format!("tile_multiply({a}, {b}, {})", out.value(sum));
        out.define(result, &text);
    }

    fn matrix_load(
        &self,
        out: &mut Writer<'_, Cuda>,
        op: OpId,
        result: ValueId,
        from: &Place,
        transposed: bool,
    ) {
        let fill = Cuda.literal(out.kernel.views[from.view].fill);
        let read = |(element, inside): (String, Option<String>)| match inside {
            Some(inside) => format!("{inside} ? {element} : {fill}"),
            None => element,
        };
        let text = make(out, result, elements(out, op, from, transposed).map(read));
        out.define(result, &text);
    }

    fn matrix_store(&self, out: &mut Writer<'_, Cuda>, op: OpId, to: &Place, value: ValueId) {
        let name = out.value(value);
        for ((element, inside), part) in elements(out, op, to, false).into_iter().zip(PARTS) {
            let store = format!("{element} = {name}.{part};");
            out.line(match inside {
                Some(inside) => format!("if ({inside}) {store}"),
                None => store,
            });
        }
    }
}
