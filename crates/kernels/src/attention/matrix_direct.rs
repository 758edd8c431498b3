//! Matrix-tiled attention with fragments straight from device memory (E58–E64).

use tilewright_tile::{Builder, Factor, Kernel, Launch, Matrix, Value, View, kernel};

use super::softmax::{Bridge, KEYS, ROWS};
use crate::prefill::chunk::Chunk;
use crate::shape::Shape;

/// SIMD groups of a threadgroup.
pub(super) const SIMD_GROUPS: u32 = 4;
/// Query rows of a threadgroup.
pub(super) const BLOCK: u32 = SIMD_GROUPS * ROWS;

/// `out = softmax(q kᵀ / √head_dim) v` of each row over its causal prefix, by matrix products.
///
/// One threadgroup for a head and 32 rows: four SIMD groups of eight rows against sixteen keys at a time. Queries stay
/// in fragments; keys and values come as fragments from views that end where the chunk does, whole tiles first and
/// without a test. Shared memory is the bridge to the softmax and the scratch of fragments at an edge: 4 KiB. A head's
/// width must be a multiple of 8.
pub fn matrix_direct(shape: &Shape, chunk: &Chunk) -> Kernel {
    let launch = Launch::grid([shape.heads, chunk.rows.div_ceil(BLOCK), 1]).threads(SIMD_GROUPS * 32).alone();
    kernel(format!("matrix_attention_direct_{}", chunk.activations), launch, |k| body(k, shape, chunk))
}

fn body<'k>(k: &'k Builder, shape: &Shape, chunk: &Chunk) {
    let Shape { heads, kv_heads, head_dim, capacity, .. } = *shape;
    let Chunk { rows, activations, cache, .. } = *chunk;
    let by_head = [head_dim, heads * head_dim, 1];
    let q = k.read::<f32>("q", [heads, rows, head_dim]).strides(by_head).stored(activations);
    let keys = k.read::<f32>("keys", [kv_heads, capacity, head_dim]).stored(cache);
    let values = k.read::<f32>("values", [kv_heads, capacity, head_dim]).stored(cache);
    let control = k.read::<i32>("control", [2]);
    let out = k.write::<f32>("out", [heads, rows, head_dim]).strides(by_head).stored(activations);
    let bridge = Bridge::new(k);
    let edge = k.scratch::<f32>("edge", [SIMD_GROUPS, 8, 8]).stored(activations);

    let (start, valid) = chunk.place(shape, control);
    let (head, block) = (k.group_axis(0), k.group_axis(1) * BLOCK);
    let first = (block + k.simd_group() * ROWS).named("first");
    let end = chunk.horizon(shape, (start, valid), block, BLOCK);
    let mine = |v: View<'k, f32>| v.guarded_axes(&[1]).through(edge).slice(head);
    let past = |v: View<'k, f32>| v.limit(1, end).through(edge).slice(head / shape.group());
    let (q, out, keys, values) = (mine(q), mine(out), past(keys), past(values));
    let scale = shape.attention_scale() * std::f32::consts::LOG2_E;
    let parts = head_dim / 8;

    let query: Vec<Factor<'k>> = (0..parts).map(|d| q.factor((first, d * 8))).collect();
    let (seen, acc) = k.fold_tiles(end, KEYS, Bridge::none(k, parts), |(seen, acc), tile, _| {
        for half in 0..2 {
            let key = |d: u32| keys.factor_transposed((tile + half * 8, d * 8));
            let zero = k.fragment(0.0);
            let score = (0..parts).fold(zero, |s, d| s.multiply_add(query[d as usize], key(d)));
            bridge.put(half, score);
        }
        k.simd_barrier();
        let seen = bridge.step(k, scale, |row| start + first + row, tile, seen);
        k.simd_barrier();
        let (factors, weights) = (bridge.factors(), [0, 1].map(|half| bridge.weights(half)));
        let mix = |(d, acc): (u32, Value<'k, Matrix>)| {
            let value = |half: u32| values.fragment((tile + half * 8, d * 8));
            let acc = acc * factors;
            acc.multiply_add(weights[0], value(0)).multiply_add(weights[1], value(1))
        };
        let acc: Vec<_> = (0..).zip(acc).map(mix).collect();
        k.simd_barrier();
        (seen, acc)
    });
    bridge.finish(k, |row| (first + row).lt(valid), seen);
    k.simd_barrier();
    let divisor = bridge.factors();
    for (d, acc) in (0..).zip(acc) {
        out.set_fragment((first, d * 8), acc / divisor);
    }
}
