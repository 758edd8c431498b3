//! Functions the text needs beyond what the language has without headers.
//!
//! Each stands in the text only where it is used. Inline PTX is behind `__CUDA_ARCH__`, with plain C++ beside it, so
//! that the same text also runs on a CPU.

use crate::emit::dialect::{Functions, Types};
use crate::emit::writer::Writer;
use crate::ir::{Math, OpKind, Reduction};
use crate::types::{Scalar, Type};

use super::lanes::reducer;
use super::{Cuda, tile};

const F16_TO_F32: &str = r#"__device__ __forceinline__ float tile_f16_to_f32(unsigned short h) {
#ifdef __CUDA_ARCH__
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
#else
    const unsigned int sign = (unsigned int)(h & 0x8000u) << 16, rest = h & 0x7fffu;
    if (rest >= 0x7c00u) return __uint_as_float(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    const float f = __uint_as_float(rest << 13) * __uint_as_float(0x77800000u);
    return __uint_as_float(sign | __float_as_uint(f));
#endif
}
"#;

const F32_TO_F16: &str = r#"__device__ __forceinline__ unsigned short tile_f32_to_f16(float f) {
#ifdef __CUDA_ARCH__
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
#else
    const unsigned int bits = __float_as_uint(f), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) return (unsigned short)(sign | 0x7e00u);
    if (rest >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
    if (rest < 0x38800000u) {
        const float tiny = __uint_as_float(rest) + 0.5f;
        return (unsigned short)(sign | (__float_as_uint(tiny) - 0x3f000000u));
    }
    return (unsigned short)(sign | (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13);
#endif
}
"#;

const BF16_TO_F32: &str = r#"__device__ __forceinline__ float tile_bf16_to_f32(unsigned short b) {
    return __uint_as_float((unsigned int)b << 16);
}
"#;

const F32_TO_BF16: &str = r#"__device__ __forceinline__ unsigned short tile_f32_to_bf16(float f) {
    const unsigned int bits = __float_as_uint(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (unsigned short)(bits >> 16 | 0x40u);
    return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
"#;

const BITS: &str = r#"template <class To, class From> __device__ __forceinline__ To tile_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "bits");
    union { From from; To to; } both;
    both.from = from;
    return both.to;
}
"#;

const FAST_EXP2: &str = r#"__device__ __forceinline__ float tile_fast_exp2(float x) {
#ifdef __CUDA_ARCH__
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#else
    return exp2f(x);
#endif
}
"#;

const F16X2_TO_F32: &str = r#"__device__ __forceinline__ float2 tile_f16x2_to_f32(ushort2 v) {
    return make_float2(tile_f16_to_f32(v.x), tile_f16_to_f32(v.y));
}
"#;

const BF16X2_TO_F32: &str = r#"__device__ __forceinline__ float2 tile_bf16x2_to_f32(ushort2 v) {
    return make_float2(tile_bf16_to_f32(v.x), tile_bf16_to_f32(v.y));
}
"#;

/// Programmatic dependent launch, where the GPU has it.
const LAUNCH_BARRIER: &str = r#"__device__ __forceinline__ void tile_next_may_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

__device__ __forceinline__ void tile_launch_barrier() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
"#;

/// Two steps of the inner index at a time, in a loop that stays one: hundreds of these products stand in a kernel, and
/// unrolled they hold twice the registers, outgrow the instruction cache and take minutes to compile. The exchange of
/// lanes is what takes the time, not the loop.
const MULTIPLY: &str = r#"__device__ __forceinline__ float2 tile_multiply(float2 a, float2 b, float2 c) {
    const int lane = threadIdx.x & 31;
#pragma unroll 1
    for (int k = 0; k < 8; k += 2) {
        const int left = (lane & 28) + k / 2, upper = k * 4 + (lane & 3), lower = upper + 4;
        const float left_x = __shfl_sync(0xffffffffu, a.x, left);
        const float left_y = __shfl_sync(0xffffffffu, a.y, left);
        c.x = fmaf(left_x, __shfl_sync(0xffffffffu, b.x, upper), c.x);
        c.y = fmaf(left_x, __shfl_sync(0xffffffffu, b.y, upper), c.y);
        c.x = fmaf(left_y, __shfl_sync(0xffffffffu, b.x, lower), c.x);
        c.y = fmaf(left_y, __shfl_sync(0xffffffffu, b.y, lower), c.y);
    }
    return c;
}
"#;

/// A reduction: lanes 16 apart first.
fn reduction(op: Reduction, scalar: Scalar) -> String {
    let ty = Cuda.scalar(scalar);
    let combine = match op {
        Reduction::Sum => "v + w".to_owned(),
        Reduction::Max => Cuda.extreme(true, scalar, "v", "w"),
        Reduction::Min => Cuda.extreme(false, scalar, "v", "w"),
    };
    // Integer sums wrap.
    let combine = match (op, scalar) {
        (Reduction::Sum, Scalar::I32) => "(int)((unsigned int)v + (unsigned int)w)".to_owned(),
        _ => combine,
    };
    let name = reducer(op, scalar);
    format!(
        "__device__ __forceinline__ {ty} tile_{name}({ty} v) {{
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) {{
        const {ty} w = __shfl_xor_sync(0xffffffffu, v, apart);
        v = {combine};
    }}
    return v;
}}
"
    )
}

pub(super) fn write(out: &mut Writer<'_, Cuda>) {
    let kernel = out.kernel;
    let any = |wanted: &dyn Fn(&OpKind, Option<Type>) -> bool| {
        out.said.ops().any(|(id, kind)| wanted(kind, kernel.ops()[id].results.first().map(|&r| kernel.ty(r))))
    };
    let from = |scalar| {
        any(&|kind, _| match kind {
            OpKind::Cast(a) | OpKind::MatrixMultiply(a, _, _) => kernel.ty(*a).scalar() == scalar,
            OpKind::TileMultiply { left, .. } => kernel.views()[*left].element == scalar,
            _ => false,
        })
    };
    let to =
        |scalar| any(&|kind, ty| matches!(kind, OpKind::Cast(_)) && ty.map(Type::scalar) == Some(scalar));
    let multiplies = |scalar| {
        any(&|kind, _| matches!(kind, OpKind::MatrixMultiply(a, _, _) if kernel.ty(*a).scalar() == scalar))
    };
    let floats = [Scalar::F32, Scalar::F16, Scalar::Bf16];
    let pieces = [
        (from(Scalar::F16), F16_TO_F32),
        (to(Scalar::F16), F32_TO_F16),
        (from(Scalar::Bf16), BF16_TO_F32),
        (to(Scalar::Bf16), F32_TO_BF16),
        (any(&|kind, _| matches!(kind, OpKind::Bitcast(_) | OpKind::Dot4(..))), BITS),
        (any(&|kind, _| matches!(kind, OpKind::Math(Math::FastExp2, _))), FAST_EXP2),
        (multiplies(Scalar::F16), F16X2_TO_F32),
        (multiplies(Scalar::Bf16), BF16X2_TO_F32),
        (floats.into_iter().any(multiplies), MULTIPLY),
        (out.facts.begins_early(), LAUNCH_BARRIER),
    ];
    let mut parts: Vec<String> =
        pieces.into_iter().filter(|(used, _)| *used).map(|(_, text)| text.to_owned()).collect();
    let tile = out.said.ops().find_map(|(_, kind)| match kind {
        OpKind::TileMultiply { left, transposed, .. } => Some((kernel.views()[*left].element, *transposed)),
        _ => None,
    });
    if kernel.has_tiles() {
        parts.push(tile::TILE.to_owned());
        parts.extend(tile.map(|(factor, transposed)| tile::product(factor, transposed)));
    }
    for op in [Reduction::Sum, Reduction::Max, Reduction::Min] {
        for scalar in [Scalar::F32, Scalar::I32, Scalar::U32] {
            let ty = Some(Type::Scalar(scalar));
            if any(&|kind, of| matches!(kind, OpKind::SimdReduce(o, _) if *o == op) && of == ty) {
                parts.push(reduction(op, scalar));
            }
        }
    }
    for line in parts.iter().flat_map(|part| part.split('\n')) {
        out.line(line);
    }
}
