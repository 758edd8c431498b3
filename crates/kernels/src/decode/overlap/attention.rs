//! A token's heads in one launch: norm, rotation, attention.

use tilewright_tile::{Builder, Kernel, Launch, Value, View, kernel};

use super::codes::{Codes, has_scales};
use super::past::{self, Past, see};
use super::products::{lying, named};
use crate::decode::control::Control;
use crate::decode::options::{Concerns, Options};
use crate::parts::arithmetic::as_stored;
use crate::parts::softmax::{self, UNSEEN};
use crate::parts::{HeadLanes, norm, rope};
use crate::shape::Shape;

/// SIMD groups of a threadgroup, which take the positions of a head in turn.
const TAKERS: u32 = 16;
/// Results of attention of a head: each taker's, and the token's own key and value.
const PARTS: u32 = TAKERS + 1;
/// Rows of the scratch of heads.
const QUERY: u32 = 0;
const KEY: u32 = 1;
const VALUE: u32 = 2;

/// `mixed` of a head from `qkv` of the token, a threadgroup each; its key and value to `fresh`, as the cache will keep them.
///
/// Nothing of a step writes `cache` before its end, so that position, angles and the first keys and values are read
/// ahead of the launch before.
pub fn attention(shape: &Shape, options: &Options) -> Kernel {
    let concerns = Concerns { cache: true, arithmetic: true, weights: true };
    let name = named(&lying("attention", options), options, concerns);
    let launch = Launch::grid([shape.kv_heads, shape.group(), 1]).threads(TAKERS * 32).alone();
    kernel(name, launch, |k| body(k, shape, options))
}

fn body<'k>(k: &'k Builder, shape: &Shape, options: &Options) {
    let &Shape { heads, kv_heads, head_dim, capacity, .. } = shape;
    let group = shape.group();
    let control = Control::read(k, shape, 1);
    let qkv = k.read::<f32>("qkv", [heads + 2 * kv_heads, head_dim]);
    let norms = shape
        .qk_norm
        .then(|| ["q_norm", "k_norm"].map(|name| k.read::<f32>(name, [head_dim]).stored(options.vectors)));
    let rotary = k.read::<f32>("rotary", [capacity, shape.pairs(), 2]);
    let lanes = HeadLanes::new(k, head_dim);
    let cache = past::cache(k, shape, options, &lanes);
    let scales = has_scales(options.cache).then(|| past::scales(k, shape, options));
    let mixed = k.write::<f32>("mixed", [kv_heads, group, head_dim]);
    let fresh = k.write::<f32>("fresh", [kv_heads, 2 * head_dim]).stored(options.cache);
    let fresh = if (2 * head_dim).is_multiple_of(group) { fresh } else { fresh.guarded_axes(&[1]) };
    let fresh_scales = scales.map(|_| {
        let fresh_scales = k.write::<f32>("fresh_scales", [kv_heads, 2]);
        if 2u32.is_multiple_of(group) { fresh_scales } else { fresh_scales.guarded_axes(&[1]) }
    });
    let own = lanes.guard(k.scratch("own", [3, head_dim]), 2);
    let maxima = k.scratch::<f32>("maxima_of", [PARTS]).fill(UNSEEN);
    let sums = k.scratch::<f32>("sums_of", [PARTS]).fill(0.0);
    let weights = k.scratch::<f32>("weights_of", [PARTS]);
    let mixtures = lanes.guard(k.scratch("mixtures_of", [PARTS, head_dim]), 2);

    let (kv, query, simd) = (k.group_axis(0), k.group_axis(1), k.simd_group());
    let position = control.position(k.i32(0));
    let head = Head::ahead(k, shape, norms, rotary.slice(position));
    let past = Past::of(k, shape, options, cache, scales, kv);
    let (first, more) = past.passes(simd, TAKERS, position);
    let first = past.read(first, position, false);
    k.launch_barrier();

    k.when(simd.lt(3), || {
        let row = simd.eq(QUERY).select(kv * group + query, kv + (simd - KEY) * kv_heads + heads);
        head.turn(k, shape, options, qkv.slice(row), &|i, x| {
            let kept = as_stored(x, options.cache);
            own.set((simd, i), simd.eq(QUERY).select(x * shape.attention_scale(), kept));
        });
    });
    k.barrier();
    // Each threadgroup of a key head hands on a share of its key and value.
    let codes = fresh_scales.map(|fresh_scales| {
        let [key, value] = [KEY, VALUE].map(|row| Codes::of(k, &lanes, own, row));
        let share = 2u32.div_ceil(group);
        k.when(k.thread().lt(share), || {
            let which = query * share + k.thread();
            fresh_scales.set((kv, which), which.eq(0).select(key.scale, value.scale));
        });
        [key, value]
    });
    let share = (2 * head_dim).div_ceil(group);
    k.when(k.thread().lt(share), || {
        let element = query * share + k.thread();
        let which = (element / head_dim).min(1) + KEY;
        let x = own.at((which, element % head_dim));
        let of = |[key, value]: [Codes<'k>; 2]| which.eq(KEY).select(key.code(x), value.code(x));
        fresh.set((kv, element), codes.map_or(x, of));
    });

    let parts = lanes.load(own, k.i32(QUERY as i32));
    let state = see(k, softmax::nothing(k, parts.len()), &parts, first);
    let state = k.fold(more, state, |state, pass| see(k, state, &parts, past.read(pass, position, true)));
    let keep = |part: Value<'k, i32>, most, sum, mixed: &[Value<'k, f32>]| {
        maxima.set_from_lane(0, [part], most);
        sums.set_from_lane(0, [part], sum);
        for (n, &x) in mixed.iter().enumerate() {
            mixtures.set((part, past.element(n as u32)), x);
        }
    };
    let (most, sum, mixture) = state;
    // Four lanes have counted each key.
    keep(simd, most, sum.simd_sum() * 0.25, &mixture);
    k.when(simd.eq(0), || {
        // As the cache will keep them.
        let kept = |which: usize, x: Value<'k, f32>| {
            codes.map_or(x, |codes| codes[which].code(x) * codes[which].scale)
        };
        let key: Vec<_> = lanes.load(own, k.i32(KEY as i32)).into_iter().map(|x| kept(0, x)).collect();
        let score = lanes.dot(&parts, &key);
        let value = (0..lanes.count()).map(|n| kept(1, own.at((VALUE as i32, past.element(n)))));
        let value: Vec<_> = value.collect();
        keep(k.i32(TAKERS as i32), score, k.f32(1.0), &value);
    });
    k.barrier();

    k.when(simd.eq(0), || {
        let most = maxima.at([k.lane()]);
        let weight = (most - most.simd_max()).exp();
        let sum = (weight * sums.at([k.lane()])).simd_sum();
        weights.set_if(k.lane().lt(PARTS), [k.lane()], weight / sum);
    });
    k.barrier();
    k.each(k.thread_strided(head_dim, 1), |d| {
        let mix = |sum: Value<'k, f32>, part: u32| sum.fma(weights.at([part]), mixtures.at((part, d)));
        mixed.set((kv, query, d), (0..PARTS).fold(k.f32(0.0), mix));
    });
}

/// What a head is normed and turned with, dealt out to lanes by pairs of elements.
struct Head<'k> {
    pairs: Vec<Pair<'k>>,
}

/// One pair of a lane.
struct Pair<'k> {
    at: Value<'k, i32>,
    /// Whether there is such a pair, where not every lane has one.
    inside: Option<Value<'k, bool>>,
    /// Weights of the norm.
    weights: Option<[Value<'k, f32>; 2]>,
    cosine: Value<'k, f32>,
    sine: Value<'k, f32>,
}

impl<'k> Head<'k> {
    /// Reads everything that no launch of a step writes; SIMD group 0 is to turn a query, the next a key.
    fn ahead(
        k: &'k Builder,
        shape: &Shape,
        norms: Option<[View<'k, f32>; 2]>,
        angles: View<'k, f32>,
    ) -> Self {
        let pairs = shape.pairs();
        let pair = |n: u32| {
            let at = k.lane() + n * 32;
            let inside = (!pairs.is_multiple_of(32)).then(|| at.lt(pairs));
            let where_inside = |whose: Value<'k, bool>| inside.map_or(whose, |inside| whose & inside);
            let [query, key] = [QUERY, KEY].map(|whose| where_inside(k.simd_group().eq(whose)));
            let weight = |[q, of_key]: [View<'k, f32>; 2], i: Value<'k, i32>| {
                k.simd_group().eq(QUERY).select(q.at_if(query, [i]), of_key.at_if(key, [i]))
            };
            let weights = norms.map(|norms| [weight(norms, at), weight(norms, at + pairs)]);
            let turns = where_inside(k.simd_group().lt(VALUE));
            Pair {
                at,
                inside,
                weights,
                cosine: angles.at_if(turns, (at, 0)),
                sine: angles.at_if(turns, (at, 1)),
            }
        };
        Self { pairs: (0..pairs.div_ceil(32)).map(pair).collect() }
    }

    /// Puts `x` normed and turned, or, in the SIMD group of the value, as it is.
    fn turn(
        &self,
        k: &'k Builder,
        shape: &Shape,
        options: &Options,
        x: View<'k, f32>,
        put: &dyn Fn(Value<'k, i32>, Value<'k, f32>),
    ) {
        let half = shape.pairs();
        let read = |pair: &Pair<'k>| {
            [pair.at, pair.at + half]
                .map(|i| pair.inside.map_or_else(|| x.at([i]), |inside| x.at_if(inside, [i])))
        };
        let read: Vec<_> = self.pairs.iter().map(read).collect();
        let squares = read.iter().flatten().fold(k.f32(0.0), |sum, &x| sum.fma(x, x));
        let scale =
            shape.qk_norm.then(|| norm::inverse_rms(squares.simd_sum(), shape.head_dim, shape.norm_eps));
        let plain = k.simd_group().eq(VALUE);
        for (pair, &[a, b]) in self.pairs.iter().zip(&read) {
            let scaled = |x: Value<'k, f32>, n: usize| match (scale, pair.weights) {
                (Some(scale), Some(weights)) => x * scale * weights[n],
                _ => x,
            };
            let (p, q) =
                rope::turn(options.arithmetic, (scaled(a, 0), scaled(b, 1)), (pair.cosine, pair.sine));
            let put = || {
                put(pair.at, plain.select(a, p));
                put(pair.at + half, plain.select(b, q));
            };
            match pair.inside {
                Some(inside) => k.when(inside, put),
                None => put(),
            }
        }
    }
}
