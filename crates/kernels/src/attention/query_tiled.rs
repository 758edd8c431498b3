//! Query-tiled attention: eight queries share each tile of keys and values (D51).

use tilewright_tile::{Builder, Kernel, Launch, Value, View, kernel};

use crate::parts::{HeadLanes, softmax};
use crate::prefill::chunk::{Chunk, stage};
use crate::shape::Shape;

/// Queries of a threadgroup, one a SIMD group.
const QUERIES: u32 = 8;
/// Keys and values in shared memory at a time.
const TILE: u32 = 16;
/// Softmax states of a query; key `t` goes to state `t mod 8`, which shortens chains of dependent sums.
const STATES: u32 = 8;

/// `out = softmax(q kᵀ / √head_dim) v` of each row over its causal prefix, by lanes.
///
/// One threadgroup for a head and eight rows. Each query has eight independent online softmax states in registers,
/// merged at the end by their common maximum and an adjacent-pair tree. Two tiles of f32: 16 KiB at heads of 128.
pub fn query_tiled(shape: &Shape, chunk: &Chunk) -> Kernel {
    let launch = Launch::grid([shape.heads, chunk.rows.div_ceil(QUERIES), 1]);
    kernel(format!("query_tiled_attention_{}", chunk.activations), launch, |k| body(k, shape, chunk))
}

fn body<'k>(k: &'k Builder, shape: &Shape, chunk: &Chunk) {
    let Shape { heads, kv_heads, head_dim, capacity, .. } = *shape;
    let Chunk { rows, activations, cache, .. } = *chunk;
    let q = k.read::<f32>("q", [rows, heads, head_dim]).stored(activations).guarded_axes(&[0, 2]);
    let keys = k.read::<f32>("keys", [kv_heads, capacity, head_dim]).stored(cache);
    let values = k.read::<f32>("values", [kv_heads, capacity, head_dim]).stored(cache);
    let control = k.read::<i32>("control", [2]);
    let out = k.write::<f32>("out", [rows, heads, head_dim]).stored(activations).guarded_axes(&[0, 2]);
    let key_tile = k.scratch::<f32>("key_tile", [TILE, head_dim]).guarded_axes(&[1]);
    let value_tile = k.scratch::<f32>("value_tile", [TILE, head_dim]).guarded_axes(&[1]);

    let (start, valid) = chunk.place(shape, control);
    let (head, first) = (k.group_axis(0), k.group_axis(1) * QUERIES);
    let row = (first + k.simd_group()).named("row");
    let end = chunk.horizon(shape, (start, valid), first, QUERIES);
    let past = |v: View<'k, f32>| v.limit(1, end).slice(head / shape.group());
    let (keys, values, zero) = (past(keys), past(values), k.i32(0));
    let lanes = HeadLanes::new(k, head_dim);
    let query = lanes.load(q.slice(row), head);
    let query: Vec<_> = query.into_iter().map(|c| c * shape.attention_scale()).collect();

    let nothing = vec![softmax::nothing(k, query.len()); STATES as usize];
    let states = k.fold(k.below(end).step(TILE), nothing, |states, tile| {
        stage(k, (TILE, head_dim), keys, [tile, zero], key_tile);
        stage(k, (TILE, head_dim), values, [tile, zero], value_tile);
        k.barrier();
        let states = k.fold(k.below(TILE).step(STATES), states, |states, base| {
            let see = |(n, state)| {
                let t = base + n;
                let score = lanes.dot(&query, &lanes.load(key_tile, t));
                let score = (tile + t).le(start + row).select(score, softmax::UNSEEN);
                softmax::see(state, score, &lanes.load(value_tile, t))
            };
            (0u32..).zip(states).map(see).collect::<Vec<_>>()
        });
        k.barrier();
        states
    });

    let most = states.iter().skip(1).fold(states[0].0, |most, s| most.max(s.0));
    let weights: Vec<_> = states.iter().map(|s| (s.0 - most).exp()).collect();
    let sum = pairwise(states.iter().zip(&weights).map(|(s, &w)| s.1 * w).collect());
    let mixed = |c: usize| pairwise(states.iter().zip(&weights).map(|(s, &w)| s.2[c] * w).collect());
    let mixed = (0..query.len()).map(|c| row.lt(valid).select(mixed(c) / sum, 0.0));
    lanes.store(out.slice(row), head, &mixed.collect::<Vec<_>>());
}

/// The sum by adjacent pairs, then pairs of pairs.
fn pairwise(mut values: Vec<Value<'_, f32>>) -> Value<'_, f32> {
    while values.len() > 1 {
        values = values
            .chunks(2)
            .map(|pair| pair.iter().copied().reduce(|a, b| a + b).unwrap_or(pair[0]))
            .collect();
    }
    values[0]
}
