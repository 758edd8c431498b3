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

/// Keys that a SIMD group takes at a time: what one waits for passes while it waits for the others.
const KEYS: u32 = 4;
/// SIMD groups of a threadgroup at most.
const MOST: u32 = 32;

/// SIMD groups that take the keys of a head in turn.
const fn takers(shape: &Shape) -> u32 {
    let most = MOST / shape.group();
    if most > 16 { 16 } else { most }
}

/// Whether there are SIMD groups for the queries that share a key head, and two more for its key and value.
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

    let of_heads = lanes.guard(qkv, 2);
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
        turned(kv + heads, norms.map(|n| n.k), &|i, x| own.set((0, i), as_stored(x, options.cache)));
    });
    k.when(simd.eq(group + 1), || {
        let value = lanes.load(of_heads, kv + (heads + kv_heads));
        let kept: Vec<_> = value.into_iter().map(|x| as_stored(x, options.cache)).collect();
        lanes.store(own, k.i32(1), &kept);
    });
    k.barrier();
    // Nobody waits for these.
    k.each(k.thread_strided(head_dim, 1), |i| {
        keys.set((kv, position, i), own.at((0, i)));
        values.set((kv, position, i), own.at((1, i)));
    });

    let (query, taker) = (simd / takers, simd % takers);
    let parts = lanes.load(queries, query);
    let (past_keys, past_values) = (keys.slice(kv), values.slice(kv));
    let score = |key: &[Value<'k, f32>]| lanes.dot(&parts, key);
    let past = k.range(taker, position).step(takers * KEYS);
    let state = k.fold(past, softmax::nothing(k, parts.len()), |state, first| {
        // The loop is over the first of them; the others may lie beyond the past.
        let at: Vec<_> = (0..KEYS).map(|n| first + n * takers).collect();
        let more = &at[1..];
        let read = |cache| {
            let more = more.iter().map(|&t| lanes.load_if(t.lt(position), cache, t));
            [lanes.load(cache, first)].into_iter().chain(more).collect::<Vec<_>>()
        };
        let (keys, values) = (read(past_keys), read(past_values));
        let mut scores = vec![score(&keys[0])];
        scores.extend(more.iter().zip(&keys[1..]).map(|(t, key)| t.lt(position).select(score(key), UNSEEN)));
        softmax::see_all(state, &scores, &values)
    });
    let (key, value) = (lanes.load(own, k.i32(0)), lanes.load(own, k.i32(1)));
    let state = softmax::see(state, taker.eq(0).select(score(&key), UNSEEN), &value);
    of_query(query).keep(taker, &lanes, state);
    k.barrier();

    k.each(k.thread_strided(group * head_dim, 1), |i| {
        let (query, d) = (i / head_dim, i % head_dim);
        let (most, sum) = of_query(query).most_and_sum(k, takers);
        mixed.set((kv, i), of_query(query).mixture(k, takers, most, d) / sum);
    });
}
