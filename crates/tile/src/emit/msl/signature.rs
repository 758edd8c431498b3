//! The head of the text: pragmas, signature, the thread's place, shared memory.

use crate::emit::dialect::{Dialect, Types};
use crate::emit::idents::builtin_name;
use crate::emit::writer::Writer;
use crate::ir::{Builtin, OpKind, Param, Shuffle};
use crate::types::Type;

use super::{Msl, matrix, prelude, tile};

impl Dialect for Msl {
    fn open(&self, out: &mut Writer<'_, Msl>) {
        let kernel = out.kernel;
        let needs = out.places(needed(out));
        let uses_fragments =
            kernel.ops().iter().any(|(_, op)| op.results.iter().any(|&r| kernel.ty(r).is_matrix()));
        out.line("#include <metal_stdlib>");
        if uses_fragments {
            out.line("#include <metal_simdgroup_matrix>");
        }
        if kernel.has_tiles() {
            tile::HEADERS.iter().for_each(|header| out.line(header));
        }
        out.line("#if __METAL_VERSION__ >= 320");
        out.line("#pragma METAL fp math_mode(safe)");
        out.line("#pragma METAL fp contract(off)");
        out.line("#endif");
        out.line("using namespace metal;");
        out.line("");
        prelude::write(out);
        tile::types(out);

        let mut list: Vec<String> = Vec::new();
        for (n, param) in kernel.params().iter().enumerate() {
            let name = out.idents.param(n);
            list.push(match param {
                Param::Buffer(b) => {
                    let buffer = &kernel.buffers()[*b];
                    let constant = if buffer.access.writes() { "" } else { "const " };
                    format!("device {constant}{}* {name} [[buffer({n})]]", self.scalar(buffer.element))
                }
                Param::Argument(a) => {
                    let scalar = self.scalar(kernel.arguments()[*a].scalar);
                    format!("constant {scalar}& {name} [[buffer({n})]]")
                }
            });
        }
        let asks = |wanted: &[Builtin]| wanted.iter().any(|b| needs.contains(b));
        if asks(&[Builtin::Group(0), Builtin::Group(1), Builtin::Group(2)]) {
            list.push("uint3 group_position [[threadgroup_position_in_grid]]".to_owned());
        }
        for (builtin, parameter) in [
            (Builtin::Thread, "uint thread_position [[thread_index_in_threadgroup]]"),
            (Builtin::SimdGroup, "uint simd_group_index [[simdgroup_index_in_threadgroup]]"),
            (Builtin::Lane, "uint lane_index [[thread_index_in_simdgroup]]"),
        ] {
            if asks(&[builtin]) {
                list.push(parameter.to_owned());
            }
        }
        out.line(format!("[[max_total_threads_per_threadgroup({})]]", kernel.launch().threads));
        out.line(format!("kernel void {}(", out.idents.function));
        out.parameters(&list);
        for builtin in needs {
            let value = match builtin {
                Builtin::Group(0) => "group_position.x",
                Builtin::Group(1) => "group_position.y",
                Builtin::Group(_) => "group_position.z",
                Builtin::Thread => "thread_position",
                Builtin::SimdGroup => "simd_group_index",
                Builtin::Lane => "lane_index",
            };
            out.line(format!("const int {} = int({value});", builtin_name(builtin)));
        }
        for (id, shared) in kernel.shared().iter() {
            let align = if vectors(out, id) { "alignas(16) " } else { "" };
            let (scalar, name) = (self.scalar(shared.element), out.idents.shared(id));
            out.line(format!("{align}threadgroup {scalar} {name}[{}];", shared.elements));
        }
    }
}

/// Whether a shared allocation is accessed by vectors or as tiles.
fn vectors(out: &Writer<'_, Msl>, shared: crate::arena::Handle<crate::ir::Shared>) -> bool {
    let kernel = out.kernel;
    let is_here = |view: crate::arena::Handle<crate::ir::View>| {
        kernel.views()[view].space == crate::ir::Space::Shared(shared)
    };
    kernel.ops().iter().any(|(_, op)| {
        match &op.kind {
            OpKind::TileMultiply { left, right, .. } if is_here(*left) || is_here(*right) => return true,
            OpKind::TileStore { to, .. } if is_here(*to) => return true,
            _ => {}
        }
        let ty = match &op.kind {
            OpKind::Load(_) => op.results.first().map(|&r| kernel.ty(r)),
            OpKind::Store(_, value) => Some(kernel.ty(*value)),
            _ => None,
        };
        let place = op.kind.place().map(|p| kernel.views()[p.view].space);
        matches!(ty, Some(Type::Vector(..))) && place == Some(crate::ir::Space::Shared(shared))
    })
}

/// What of the thread's place printing needs.
fn needed(out: &Writer<'_, Msl>) -> &'static [Builtin] {
    let shuffles = |(_, kind): (_, &OpKind)| matches!(kind, OpKind::Shuffle(Shuffle::Down(_), _));
    if matrix::uses_scratch(out) {
        &[Builtin::Lane, Builtin::SimdGroup]
    } else if out.said.ops().any(shuffles) {
        &[Builtin::Lane]
    } else {
        &[]
    }
}
