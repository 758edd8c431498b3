//! Attention of a chunk without tiles: one SIMD group a query.

use tilewright_tile::{Kernel, Launch, kernel};

use crate::parts::{HeadLanes, softmax};
use crate::prefill::chunk::Chunk;
use crate::shape::Shape;

/// Queries of a threadgroup.
const QUERIES: u32 = 8;

/// `out = softmax(q kᵀ / √head_dim) v` of each row over its causal prefix, key after key.
///
/// Serves the path without tiled attention (f32 cache) and the one for any head width on the packed f16 cache.
pub fn plain(shape: &Shape, chunk: &Chunk) -> Kernel {
    let Shape { heads, kv_heads, head_dim, capacity, .. } = *shape;
    let Chunk { rows, activations, cache, .. } = *chunk;
    let launch = Launch::grid([heads, rows.div_ceil(QUERIES), 1]).alone();
    kernel(format!("plain_attention_{cache}"), launch, |k| {
        let q = k.read::<f32>("q", [rows, heads, head_dim]).stored(activations).guarded_axes(&[0, 2]);
        let keys = k.read::<f32>("keys", [kv_heads, capacity, head_dim]).stored(cache).guarded_axes(&[2]);
        let values = k.read::<f32>("values", [kv_heads, capacity, head_dim]).stored(cache).guarded_axes(&[2]);
        let control = k.read::<i32>("control", [2]);
        let out = k.write::<f32>("out", [rows, heads, head_dim]).stored(activations).guarded_axes(&[0, 2]);

        let at = chunk.place(shape, control);
        let head = k.group_axis(0);
        let row = (k.group_axis(1) * QUERIES + k.simd_group()).named("row");
        let end = chunk.horizon(shape, at, row, 1);
        let (keys, values) = (keys.slice(head / shape.group()), values.slice(head / shape.group()));
        let lanes = HeadLanes::new(k, head_dim);
        let query = lanes.load(q.slice(row), head);
        let query: Vec<_> = query.into_iter().map(|c| c * shape.attention_scale()).collect();

        let (_, sum, mixed) = k.fold(k.below(end), softmax::nothing(k, query.len()), |state, t| {
            let score = lanes.dot(&query, &lanes.load(keys, t));
            softmax::see(state, score, &lanes.load(values, t))
        });
        // The largest weight is 1, so only padding, which sees nothing, has a smaller sum: its output is zero.
        let mixed: Vec<_> = mixed.into_iter().map(|mixed| mixed / sum.max(1.0)).collect();
        lanes.store(out.slice(row), head, &mixed);
    })
}
