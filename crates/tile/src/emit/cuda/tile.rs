//! 64×64 tiles as 32 numbers a thread: each SIMD group has 16 rows, a lane two columns of each.

use crate::arena::Handle;
use crate::emit::dialect::Tiles;
use crate::emit::writer::Writer;
use crate::ir::{ValueId, View};
use crate::types::Scalar;

use super::Cuda;

/// The type, and its store.
pub(super) const TILE: &str = r#"struct tile_sums {
    float part[32];
};

__device__ __forceinline__ void tile_store(const tile_sums& sums, float* to) {
    to += threadIdx.x / 32 * 1024 + (threadIdx.x & 31);
#pragma unroll
    for (int n = 0; n < 32; n++) to[n * 32] = sums.part[n];
}
"#;

/// The product of factors in memory of a type, for one way in which the right one lies.
pub(super) fn product(factor: Scalar, transposed: bool) -> String {
    let (ty, wide) = match factor {
        Scalar::F16 => ("unsigned short", "tile_f16_to_f32"),
        Scalar::Bf16 => ("unsigned short", "tile_bf16_to_f32"),
        _ => ("float", ""),
    };
    let (column, inner) = if transposed { (64, 1) } else { (1, 64) };
    format!(
        "__device__ __forceinline__ void tile_product(tile_sums& sums, const {ty}* left, const {ty}* right) {{
    left += threadIdx.x / 32 * 1024;
    right += (threadIdx.x & 31) * {column};
#pragma unroll 1
    for (int k = 0; k < 64; k++) {{
        const float near = {wide}(right[k * {inner}]), far = {wide}(right[k * {inner} + {}]);
#pragma unroll
        for (int row = 0; row < 16; row++) {{
            const float factor = {wide}(left[row * 64 + k]);
            sums.part[row * 2] = fmaf(factor, near, sums.part[row * 2]);
            sums.part[row * 2 + 1] = fmaf(factor, far, sums.part[row * 2 + 1]);
        }}
    }}
}}
",
        32 * column
    )
}

fn at(out: &Writer<'_, Cuda>, view: Handle<View>) -> String {
    let view = &out.kernel.views[view];
    let (memory, _) = out.memory(view);
    if view.offset == 0 { memory } else { format!("{memory} + {}", view.offset) }
}

impl Tiles for Cuda {
    fn tile_splat(&self, out: &mut Writer<'_, Cuda>, result: ValueId, value: &str) {
        let name = out.value(result);
        out.line(format!("tile_sums {name};"));
        out.line("#pragma unroll");
        out.line(format!("for (int e = 0; e < 32; e++) {name}.part[e] = {value};"));
    }

    fn tile_multiply(
        &self,
        out: &mut Writer<'_, Cuda>,
        tile: ValueId,
        [left, right]: [Handle<View>; 2],
        _: bool,
    ) {
        let line = format!("tile_product({}, {}, {});", out.value(tile), at(out, left), at(out, right));
        out.line(line);
    }

    fn tile_store(&self, out: &mut Writer<'_, Cuda>, to: Handle<View>, value: ValueId) {
        let line = format!("tile_store({}, {});", out.value(value), at(out, to));
        out.line(line);
    }
}
