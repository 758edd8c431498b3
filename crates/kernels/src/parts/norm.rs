//! RMSNorm: `x / rms(x) · w` (D53).

use tilewright_tile::{Builder, Value, View};

use super::arithmetic::Arithmetic;

/// How many neighbours a lane squares at a time.
const CONTIGUOUS: u32 = 4;

/// Threads of the group that normalises rows of `width`: a SIMD group for 128 numbers, at most 32 of them.
pub const fn threads(width: u32) -> u32 {
    let groups = width.div_ceil(32 * CONTIGUOUS);
    32 * if groups > 32 { 32 } else { groups }
}

/// `1 / sqrt(sum / width + eps)`, precise.
pub fn inverse_rms(sum_of_squares: Value<'_, f32>, width: u32, eps: f32) -> Value<'_, f32> {
    (sum_of_squares / width as f32 + eps).rsqrt()
}

/// `1 / rms` of the vector `x` by the whole threadgroup: four neighbours a lane, lanes, then SIMD groups.
pub fn of_threadgroup<'k>(
    k: &'k Builder,
    x: View<'k, f32>,
    eps: f32,
    arithmetic: Arithmetic,
) -> Value<'k, f32> {
    let width = x.size(0);
    let squares = k.fold(k.thread_strided(width, contiguous(width)), 0.0, |sum, i| {
        let x = x.at([i]);
        arithmetic.add_product(sum, x, x)
    });
    inverse_rms(k.threadgroup_sum(squares), width, eps)
}

/// `1 / rms` of the vector `x` by each SIMD group for itself.
pub fn of_simd_group<'k>(
    k: &'k Builder,
    x: View<'k, f32>,
    eps: f32,
    arithmetic: Arithmetic,
) -> Value<'k, f32> {
    let width = x.size(0);
    let squares = k.fold(k.lane_strided(width, contiguous(width)), 0.0, |sum, i| {
        let x = x.at([i]);
        arithmetic.add_product(sum, x, x)
    });
    inverse_rms(squares.simd_sum(), width, eps)
}

/// Neighbours a lane takes of a vector of `width`: four, or one where four would cross the end.
pub const fn contiguous(width: u32) -> u32 {
    if width.is_multiple_of(CONTIGUOUS) { CONTIGUOUS } else { 1 }
}
