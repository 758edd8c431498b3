//! The head of the text: functions used, signature, the thread's place, shared memory.

use crate::emit::dialect::{Dialect, Types};
use crate::emit::idents::builtin_name;
use crate::emit::writer::Writer;
use crate::ir::{Builtin, OpKind, Param};

use super::{Cuda, prelude};

impl Dialect for Cuda {
    fn open(&self, out: &mut Writer<'_, Cuda>) {
        let kernel = out.kernel;
        prelude::write(out);
        let mut list: Vec<String> = Vec::new();
        for (n, param) in kernel.params().iter().enumerate() {
            let name = out.idents.param(n);
            list.push(match param {
                Param::Buffer(b) => {
                    let buffer = &kernel.buffers()[*b];
                    let constant = if buffer.access.writes() { "" } else { "const " };
                    // Memory that the compiler is told nobody else writes may be read on either side of a launch
                    // barrier: too early what an earlier launch still writes, or too late what is to be there in time.
                    let restrict = if out.facts.begins_early() { "" } else { " __restrict__" };
                    format!("{constant}{}*{restrict} {name}", self.scalar(buffer.element))
                }
                Param::Argument(a) => format!("const {} {name}", self.scalar(kernel.arguments()[*a].scalar)),
            });
        }
        let threads = kernel.launch().threads;
        let resident = if kernel.launch().alone { ", 1" } else { "" };
        out.line(format!(
            "extern \"C\" __global__ void __launch_bounds__({threads}{resident}) {}(",
            out.idents.function
        ));
        out.parameters(&list);
        if out.facts.begins_early() {
            out.line("tile_next_may_begin();");
        }
        for builtin in out.places(needed(out)) {
            let value = match builtin {
                Builtin::Group(0) => "blockIdx.x",
                Builtin::Group(1) => "blockIdx.y",
                Builtin::Group(_) => "blockIdx.z",
                Builtin::Thread => "threadIdx.x",
                Builtin::SimdGroup => "(threadIdx.x / 32)",
                Builtin::Lane => "(threadIdx.x & 31)",
            };
            out.line(format!("const int {} = (int){value};", builtin_name(builtin)));
        }
        if fragments(out) {
            out.line("const int fragment_row = lane / 4, fragment_column = (lane & 3) * 2;");
        }
        for (id, shared) in kernel.shared().iter() {
            let (scalar, name) = (self.scalar(shared.element), out.idents.shared(id));
            out.line(format!("__shared__ __align__(16) {scalar} {name}[{}];", shared.elements));
        }
    }
}

/// Whether fragments are read or written, which lanes do element by element.
fn fragments(out: &Writer<'_, Cuda>) -> bool {
    out.said.ops().any(|(_, kind)| matches!(kind, OpKind::MatrixLoad { .. } | OpKind::MatrixStore { .. }))
}

/// What of the thread's place printing needs.
fn needed(out: &Writer<'_, Cuda>) -> &'static [Builtin] {
    if fragments(out) { &[Builtin::Lane] } else { &[] }
}
