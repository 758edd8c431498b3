//! Between projection and attention: per-head norm, rotation, and the new entries of the cache.

use tilewright_tile::{Builder, Kernel, Launch, Scalar, Value, View, kernel};

use crate::parts::{Arithmetic, norm, rope};
use crate::shape::Shape;

use super::control::Control;
use super::options::{Concerns, Options};

/// Heads, and SIMD groups, of a threadgroup.
const HEADS: u32 = 8;

/// Queries, keys and values of the token: norm (Qwen3) and rotation of query and key heads; queries to `q`, keys and
/// values to the cache at the token's position. One SIMD group a head.
pub fn heads(shape: &Shape, options: &Options) -> Kernel {
    let concerns = Concerns { cache: true, arithmetic: true, ..Concerns::default() };
    let weights = options.vectors;
    let mut name = options.kernel_name("decode_heads", concerns);
    if shape.qk_norm && weights != options.activations {
        name.push_str(&format!("_weights_{weights}"));
    }
    let &Shape { heads, kv_heads, head_dim, capacity, .. } = shape;
    let (sequences, all) = (options.sequences, heads + 2 * kv_heads);
    kernel(name, Launch::grid([all.div_ceil(HEADS), sequences, 1]).threads(HEADS * 32), |k| {
        if options.cache == Scalar::I8 {
            k.refuse("8-bit keys and values, which the step of overlapping launches alone has");
        }
        let control = Control::read(k, shape, sequences);
        let qkv = k.read::<f32>("qkv", [sequences, all, head_dim]).stored(options.activations);
        let norms = HeadNorms::read(k, shape, weights);
        let rotary = k.read::<f32>("rotary", [capacity, shape.pairs(), 2]);
        let q = k.write::<f32>("q", [sequences, heads, head_dim]).stored(options.activations);
        let cache = [sequences, kv_heads, capacity, head_dim];
        let keys = k.write::<f32>("keys", cache).stored(options.cache);
        let values = k.write::<f32>("values", cache).stored(options.cache);

        let sequence = k.group_axis(1);
        let head = (k.group_axis(0) * HEADS + k.simd_group()).named("head");
        let position = control.position(sequence);
        let x = qkv.slice(sequence).slice(head);
        let angles = rotary.slice(position);
        k.when(head.lt(heads), || {
            let scale = norms.map(|n| HeadScale::of(k, shape, options.arithmetic, x, n.q));
            turn(k, options.arithmetic, x, scale, angles, &|i, x| {
                q.set((sequence, head, i), x);
            });
        });
        k.when(head.ge(heads) & head.lt(heads + kv_heads), || {
            let scale = norms.map(|n| HeadScale::of(k, shape, options.arithmetic, x, n.k));
            turn(k, options.arithmetic, x, scale, angles, &|i, x| {
                keys.set((sequence, head - heads, position, i), x);
            });
        });
        k.when(head.ge(heads + kv_heads) & head.lt(all), || {
            let kv = head - (heads + kv_heads);
            k.each(k.lane_strided(head_dim, 1), |i| {
                values.set((sequence, kv, position, i), qkv.at((sequence, head, i)));
            });
        });
    })
}

/// Weights of the norms of query and key heads.
#[derive(Clone, Copy)]
pub(crate) struct HeadNorms<'k> {
    pub(crate) q: View<'k, f32>,
    pub(crate) k: View<'k, f32>,
}

impl<'k> HeadNorms<'k> {
    /// The parameters `q_norm` and `k_norm`, if the shape has them.
    pub(crate) fn read(k: &'k Builder, shape: &Shape, storage: Scalar) -> Option<Self> {
        let read = |name| k.read::<f32>(name, [shape.head_dim]).stored(storage);
        shape.qk_norm.then(|| Self { q: read("q_norm"), k: read("k_norm") })
    }
}

/// What a head is multiplied with before it turns: `1 / rms`, and a weight an element.
#[derive(Clone, Copy)]
pub(crate) struct HeadScale<'k> {
    inverse_rms: Value<'k, f32>,
    w: View<'k, f32>,
}

impl<'k> HeadScale<'k> {
    /// The scale of head `x` with weights `w`.
    pub(crate) fn of(
        k: &'k Builder,
        shape: &Shape,
        arithmetic: Arithmetic,
        x: View<'k, f32>,
        w: View<'k, f32>,
    ) -> Self {
        Self { inverse_rms: norm::of_simd_group(k, x, shape.norm_eps, arithmetic), w }
    }
}

/// A head `x`, scaled (if it is), turned by `angles`, `[pairs, 2]`; each lane puts the elements it turned.
pub(crate) fn turn<'k>(
    k: &'k Builder,
    arithmetic: Arithmetic,
    x: View<'k, f32>,
    scale: Option<HeadScale<'k>>,
    angles: View<'k, f32>,
    put: &dyn Fn(Value<'k, i32>, Value<'k, f32>),
) {
    let pairs = angles.size(0);
    let scaled = |i: Value<'k, i32>| match scale {
        Some(scale) => x.at([i]) * scale.inverse_rms * scale.w.at([i]),
        None => x.at([i]),
    };
    k.each(k.lane_strided(pairs, 1), |pair| {
        let (a, b) = (scaled(pair), scaled(pair + pairs));
        let (a, b) = rope::turn(arithmetic, (a, b), (angles.at((pair, 0)), angles.at((pair, 1))));
        put(pair, a);
        put(pair + pairs, b);
    });
}
