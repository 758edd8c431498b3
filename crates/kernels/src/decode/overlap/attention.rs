//! A token's heads in one launch: norm, rotation, the new entries of the cache, attention.

use tilewright_tile::{Builder, Kernel, Launch, Value, View, kernel};

use super::products::named;
use crate::decode::attention::Partial;
use crate::decode::control::Control;
use crate::decode::heads::{HeadNorms, HeadScale, turn};
use crate::decode::options::{Concerns, Options};
use crate::parts::HeadLanes;
use crate::parts::arithmetic::as_stored;
use crate::parts::softmax::{self, UNSEEN};
use crate::shape::Shape;

/// SIMD groups of a threadgroup at most.
const MOST: u32 = 32;

/// SIMD groups that take the keys of a head in turn.
const fn takers(shape: &Shape) -> u32 {
    let most = MOST / shape.group();
    if most > 16 { 16 } else { most }
}

/// Whether there are SIMD groups for the queries that share a key head, and one more for that head.
pub const fn fits(shape: &Shape) -> bool {
    takers(shape) >= 2
}

/// `mixed` of every head from `qkv` of the token: one threadgroup a key head and the queries that share it.
///
/// The token's own key and value stay in shared memory, so nothing is read from the cache that is written here.
pub fn attention(shape: &Shape, options: &Options) -> Kernel {
    let concerns = Concerns { cache: true, arithmetic: true, weights: true };
    let threads = shape.group() * takers(shape) * 32;
    let launch = Launch::groups(shape.kv_heads).threads(threads).alone();
    kernel(named("attention", options, concerns), launch, |k| body(k, shape, options))
}

fn body<'k>(k: &'k Builder, shape: &Shape, options: &Options) {
    let &Shape { heads, kv_heads, head_dim, capacity, .. } = shape;
    let (group, takers) = (shape.group(), takers(shape));
    let control = Control::read(k, shape, 1);
    let qkv = k.read::<f32>("qkv", [heads + 2 * kv_heads, head_dim]);
    let norms = HeadNorms::read(k, shape, options.weights.vectors());
    let rotary = k.read::<f32>("rotary", [capacity, shape.pairs(), 2]);
    let lanes = HeadLanes::new(k, head_dim);
    let cache = [kv_heads, capacity, head_dim];
    let keys = lanes.guard(k.read_write::<f32>("keys", cache).stored(options.cache), 3);
    let values = lanes.guard(k.read_write::<f32>("values", cache).stored(options.cache), 3);
    let mixed = k.write::<f32>("mixed", [kv_heads, group * head_dim]);
    let queries = lanes.guard(k.scratch("queries", [group, head_dim]), 2);
    let own = lanes.guard(k.scratch("own", [2, head_dim]), 2);
    let maxima = k.scratch::<f32>("maxima_of", [group, takers]);
    let sums = k.scratch::<f32>("sums_of", [group, takers]);
    let mixtures = lanes.guard(k.scratch("mixtures_of", [group, takers, head_dim]), 3);
    let of_query = |query| Partial {
        maxima: maxima.slice(query),
        sums: sums.slice(query),
        mixtures: mixtures.slice(query),
    };

    let (kv, simd) = (k.group_id(), k.simd_group());
    k.launch_barrier();
    let position = control.position(k.i32(0));
    let angles = rotary.slice(position);
    let turned =
        |head: Value<'k, i32>, w: Option<View<'k, f32>>, put: &dyn Fn(Value<'k, i32>, Value<'k, f32>)| {
            let x = qkv.slice(head);
            let scale = w.map(|w| HeadScale::of(k, shape, options.arithmetic, x, w));
            turn(k, options.arithmetic, x, scale, angles, put);
        };
    k.when(simd.lt(group), || {
        turned(kv * group + simd, norms.map(|n| n.q), &|i, x| {
            queries.set((simd, i), x * shape.attention_scale())
        });
    });
    k.when(simd.eq(group), || {
        turned(kv + heads, norms.map(|n| n.k), &|i, x| {
            own.set((0, i), as_stored(x, options.cache));
            keys.set((kv, position, i), x);
        });
        k.each(k.lane_strided(head_dim, 1), |i| {
            let value = qkv.at((kv + (heads + kv_heads), i));
            own.set((1, i), as_stored(value, options.cache));
            values.set((kv, position, i), value);
        });
    });
    k.barrier();

    let (query, taker) = (simd / takers, simd % takers);
    let parts = lanes.load(queries, query);
    let (past_keys, past_values) = (keys.slice(kv), values.slice(kv));
    let see = |state, key: &[Value<'k, f32>], value: &[Value<'k, f32>], seen: Option<Value<'k, bool>>| {
        let score = lanes.dot(&parts, key);
        let score = seen.map_or(score, |seen| seen.select(score, UNSEEN));
        softmax::see(state, score, value)
    };
    let past = k.range(taker, position).step(takers);
    let state = k.fold(past, softmax::nothing(k, parts.len()), |state, t| {
        see(state, &lanes.load(past_keys, t), &lanes.load(past_values, t), None)
    });
    let (key, value) = (lanes.load(own, k.i32(0)), lanes.load(own, k.i32(1)));
    let state = see(state, &key, &value, Some(taker.eq(0)));
    of_query(query).keep(taker, &lanes, state);
    k.barrier();

    k.each(k.thread_strided(group * head_dim, 1), |i| {
        let (query, d) = (i / head_dim, i % head_dim);
        let (most, sum) = of_query(query).most_and_sum(k, takers);
        mixed.set((kv, i), of_query(query).mixture(k, takers, most, d) / sum);
    });
}
