//! 64×64 tiles as cooperative tensors of Metal 4's tensor operations.
//!
//! Which thread holds which element is the implementation's own; the text asks only whether a thread's slot holds one.

use crate::arena::Handle;
use crate::emit::dialect::{Tiles, Types};
use crate::emit::writer::Writer;
use crate::ir::{OpKind, ValueId, View};
use crate::types::Scalar;

use super::Msl;

/// Headers, where a kernel has tiles.
pub(super) const HEADERS: [&str; 2] =
    ["#include <metal_tensor>", "#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>"];

/// The product that a kernel's tiles are planned for, and how its factors and results lie in memory.
pub(super) fn types(out: &mut Writer<'_, Msl>) {
    let kernel = out.kernel;
    let product = out.said.ops().find_map(|(_, kind)| match kind {
        OpKind::TileMultiply { left, transposed, .. } => Some((kernel.views[*left].element, *transposed)),
        _ => None,
    });
    if !kernel.has_tiles() {
        return;
    }
    // One that is only filled needs a plan as well.
    let (factor, transposed) = product.unwrap_or((Scalar::F32, false));
    let tensor = |scalar, name: &str| {
        format!("typedef tensor<threadgroup {scalar}, extents<int, 64, 64>, tensor_inline> {name};")
    };
    out.line("typedef mpp::tensor_ops::matmul2d<");
    out.line(format!(
        "    mpp::tensor_ops::matmul2d_descriptor(64, 64, 64, false, {transposed}, false, \
         mpp::tensor_ops::matmul2d_descriptor::mode::multiply_accumulate),"
    ));
    out.line("    execution_simdgroups<4>> tile_product;");
    out.line(tensor(Msl.scalar(factor), "tile_factor"));
    out.line(tensor("float", "tile_result"));
    out.line("");
}

/// A tensor on a view of shared memory.
fn on(out: &Writer<'_, Msl>, view: Handle<View>, name: &str) -> String {
    let view = &out.kernel.views[view];
    let (memory, _) = out.memory(view);
    let place = if view.offset == 0 { memory } else { format!("{memory} + {}", view.offset) };
    format!("{name}({place}, extents<int, 64, 64>())")
}

impl Tiles for Msl {
    fn tile_splat(&self, out: &mut Writer<'_, Msl>, result: ValueId, value: &str) {
        let name = out.value(result);
        out.line(format!(
            "auto {name} = tile_product().get_destination_cooperative_tensor<tile_factor, tile_factor, float>();"
        ));
        out.enter(format!("for (ushort e = 0; e < {name}.get_capacity(); e++)"));
        out.line(format!("if ({name}.is_valid_element(e)) {name}[e] = {value};"));
        out.close();
    }

    fn tile_multiply(
        &self,
        out: &mut Writer<'_, Msl>,
        tile: ValueId,
        [left, right]: [Handle<View>; 2],
        _: bool,
    ) {
        let name = out.value(tile);
        let (left, right) = (on(out, left, "tile_left"), on(out, right, "tile_right"));
        out.scope();
        out.line(format!("tile_factor {left}, {right};"));
        out.line(format!("tile_product().run(tile_left, tile_right, {name});"));
        out.close();
    }

    fn tile_store(&self, out: &mut Writer<'_, Msl>, to: Handle<View>, value: ValueId) {
        let (name, to) = (out.value(value), on(out, to, "tile_to"));
        out.scope();
        out.line(format!("tile_result {to};"));
        out.line(format!("{name}.store(tile_to);"));
        out.close();
    }
}
