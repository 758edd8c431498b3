//! Grouped attention: all query heads of a key/value head share each tile of keys and values.

use tilewright_tile::{Builder, Kernel, Launch, Matrix, Value, View, kernel};

use super::softmax::{Bridge, KEYS, ROWS};
use crate::prefill::chunk::{Chunk, stage};
use crate::shape::Shape;

/// SIMD groups of a threadgroup and how many of them, side by side, take one query head.
const fn simd_groups(shape: &Shape) -> (u32, u32) {
    let blocks = if shape.group() < 4 { 4 / shape.group() } else { 1 };
    (shape.group() * blocks, blocks)
}

/// Whether one threadgroup has room for the whole group of heads.
pub const fn fits(shape: &Shape) -> bool {
    simd_groups(shape).0 <= 16 && shape.head_dim.is_multiple_of(8) && shape.head_dim <= 128
}

/// `out = softmax(q kᵀ / √head_dim) v` of each row over its causal prefix, by matrix products.
///
/// One threadgroup for a key/value head and at least eight rows of each query head that uses it. A tile of sixteen
/// keys and values is staged once, as stored, for all of them.
pub fn grouped(shape: &Shape, chunk: &Chunk) -> Kernel {
    let (simds, blocks) = simd_groups(shape);
    let groups = [shape.kv_heads, chunk.rows.div_ceil(blocks * ROWS), 1];
    let launch = Launch::grid(groups).threads(simds * 32).alone();
    kernel(format!("grouped_attention_{}", chunk.cache), launch, |k| body(k, shape, chunk))
}

fn body<'k>(k: &'k Builder, shape: &Shape, chunk: &Chunk) {
    let Shape { heads, kv_heads, head_dim, capacity, .. } = *shape;
    let Chunk { rows, activations, cache, .. } = *chunk;
    let (simds, blocks) = simd_groups(shape);
    let height = blocks * ROWS;
    let by_head = [head_dim, heads * head_dim, 1];
    let q = k.read::<f32>("q", [heads, rows, head_dim]).strides(by_head).stored(activations);
    let keys = k.read::<f32>("keys", [kv_heads, capacity, head_dim]).stored(cache);
    let values = k.read::<f32>("values", [kv_heads, capacity, head_dim]).stored(cache);
    let control = k.read::<i32>("control", [2]);
    let out = k.write::<f32>("out", [heads, rows, head_dim]).strides(by_head).stored(activations);
    let key_tile = k.scratch::<f32>("key_tile", [KEYS, head_dim]).stored(cache);
    let value_tile = k.scratch::<f32>("value_tile", [KEYS, head_dim]).stored(cache);
    let bridge = Bridge::new(k);
    let edge = k.scratch::<f32>("edge", [simds, 8, 8]).stored(activations);

    let (start, valid) = chunk.place(shape, control);
    let (kv_head, block) = (k.group_axis(0), k.group_axis(1) * height);
    let head = (kv_head * shape.group() + k.simd_group() / blocks).named("head");
    let first = (block + k.simd_group() % blocks * ROWS).named("first");
    let end = chunk.horizon(shape, (start, valid), block, height);
    let mine = |v: View<'k, f32>| v.guarded_axes(&[1]).through(edge).slice(head);
    let (q, out) = (mine(q), mine(out));
    let (keys, values) = (keys.limit(1, end).slice(kv_head), values.limit(1, end).slice(kv_head));
    let scale = shape.attention_scale() * std::f32::consts::LOG2_E;
    let (parts, zero) = (head_dim / 8, k.i32(0));

    let query: Vec<Value<'k, Matrix>> = (0..parts).map(|d| q.fragment((first, d * 8))).collect();
    let (seen, acc) = k.fold(k.below(end).step(KEYS), Bridge::none(k, parts), |(seen, acc), tile| {
        stage(k, (KEYS, head_dim), keys, [tile, zero], key_tile);
        stage(k, (KEYS, head_dim), values, [tile, zero], value_tile);
        k.barrier();
        for half in 0..2 {
            let key = |d: u32| key_tile.factor_transposed((half * 8, d * 8)).f32();
            let none = k.fragment(0.0);
            bridge.put(half, (0..parts).fold(none, |s, d| s.multiply_add(query[d as usize], key(d))));
        }
        k.simd_barrier();
        let seen = bridge.step(k, scale, |row| start + first + row, tile, seen);
        k.simd_barrier();
        let (factors, weights) = (bridge.factors(), [0, 1].map(|half| bridge.weights(half)));
        let mix = |(d, acc): (u32, Value<'k, Matrix>)| {
            let value = |half: u32| value_tile.fragment((half * 8, d * 8));
            (acc * factors).multiply_add(weights[0], value(0)).multiply_add(weights[1], value(1))
        };
        let acc: Vec<_> = (0..).zip(acc).map(mix).collect();
        k.barrier();
        (seen, acc)
    });
    bridge.finish(k, |row| (first + row).lt(valid), seen);
    k.simd_barrier();
    let divisor = bridge.factors();
    for (d, acc) in (0..).zip(acc) {
        out.set_fragment((first, d * 8), acc / divisor);
    }
}
