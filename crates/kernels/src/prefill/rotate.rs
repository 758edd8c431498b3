//! From projections to attention: bias, per-head norm, rotation, and what goes into the cache.

use tilewright_tile::{Builder, Kernel, Launch, Scalar, Value, View, kernel};

use super::chunk::Chunk;
use crate::parts::arithmetic::as_stored;
use crate::parts::{Arithmetic, norm, rope};
use crate::shape::Shape;

/// Which caches receive keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheWrite {
    /// `keys` and `values` in the chunk's cache type.
    One,
    /// Those, and the same in f16 as `packed_keys` and `packed_values`.
    Mirrored,
}

/// Splits the stacked projections of each row: queries to `q`, keys and values of valid rows to their position in the
/// cache. Queries and keys pass bias, norm and rotation as the model has them; values pass the bias.
///
/// One threadgroup a row, one SIMD group a head. Padding is zero in `q` and not cached (D46).
pub fn rotate(shape: &Shape, chunk: &Chunk, arithmetic: Arithmetic, write: CacheWrite) -> Kernel {
    let Chunk { activations, vectors, cache, rows } = *chunk;
    let kept = if cache == activations { String::new() } else { format!("_cache_{cache}") };
    let mirror = if write == CacheWrite::Mirrored { "_mirrored" } else { "" };
    let separate = if arithmetic == Arithmetic::Separate { "_separate" } else { "" };
    let vectors = match (shape.qk_norm || shape.qkv_bias) && vectors != activations {
        true => format!("_weights_{vectors}"),
        false => String::new(),
    };
    let name = format!("prefill_heads_{activations}{kept}{mirror}{separate}{vectors}");
    kernel(name, Launch::rows(rows), |k| body(k, shape, chunk, arithmetic, write))
}

fn body<'k>(k: &'k Builder, shape: &Shape, chunk: &Chunk, arithmetic: Arithmetic, write: CacheWrite) {
    let Shape { heads, kv_heads, head_dim, capacity, .. } = *shape;
    let Chunk { rows, activations, vectors, cache } = *chunk;
    let (all, pairs) = (heads + 2 * kv_heads, shape.pairs());
    let qkv = k.read::<f32>("qkv", [rows, all, head_dim]).stored(activations);
    let vector = |has: bool, name: &str| has.then(|| k.read::<f32>(name, [head_dim]).stored(vectors));
    let (q_norm, k_norm) = (vector(shape.qk_norm, "q_norm"), vector(shape.qk_norm, "k_norm"));
    let bias = shape.qkv_bias.then(|| k.read::<f32>("bias", [all, head_dim]).stored(vectors));
    let rotary = k.read::<f32>("rotary", [capacity, pairs, 2]).guarded_axes(&[0]);
    let control = k.read::<i32>("control", [2]);
    let q = k.write::<f32>("q", [rows, heads, head_dim]).stored(activations);
    let past = |name: &str, storage: Scalar| {
        let view = k.write::<f32>(name, [kv_heads, capacity, head_dim]);
        view.stored(storage).guarded_axes(&[1])
    };
    let (mut keys, mut values) = (vec![past("keys", cache)], vec![past("values", cache)]);
    if write == CacheWrite::Mirrored {
        keys.push(past("packed_keys", Scalar::F16));
        values.push(past("packed_values", Scalar::F16));
    }

    let (start, valid) = chunk.place(shape, control);
    let row = k.group_id();
    let (position, live) = ((start + row).named("position"), row.lt(valid));
    let raw = |head: Value<'k, i32>, d: Value<'k, i32>| {
        let value = qkv.at((row, head, d));
        bias.map_or(value, |bias| as_stored(value + bias.at((head, d)), activations))
    };
    // Both components of pair `i` of a head, after norm and rotation.
    let turned = |norm: &Norm<'k>, head: Value<'k, i32>, i: Value<'k, i32>| {
        let (a, b) = (norm.of(raw(head, i), i), norm.of(raw(head, i + pairs), i + pairs));
        let turn = rotary.at2((position, i, 0));
        rope::turn(arithmetic, (a, b), (turn.part(0), turn.part(1)))
    };

    k.each(k.simd_strided(heads), |head| {
        let norm = Norm::new(k, shape, arithmetic, activations, q_norm, |d| raw(head, d));
        k.each(k.lane_strided(pairs, 1), |i| {
            let (a, b) = turned(&norm, head, i);
            q.set((row, head, i), live.select(a, 0.0));
            q.set((row, head, i + pairs), live.select(b, 0.0));
        });
    });
    k.each(k.simd_strided(kv_heads), |head| {
        let norm = Norm::new(k, shape, arithmetic, activations, k_norm, |d| raw(head + heads, d));
        k.each(k.lane_strided(pairs, 1), |i| {
            let (a, b) = turned(&norm, head + heads, i);
            for keys in &keys {
                keys.set_if(live, (head, position, i), a);
                keys.set_if(live, (head, position, i + pairs), b);
            }
        });
        k.each(k.lane_strided(head_dim, 1), |d| {
            let value = raw(head + heads + kv_heads, d);
            values.iter().for_each(|values| values.set_if(live, (head, position, d), value));
        });
    });
}

/// The norm of one head, or none.
struct Norm<'k> {
    weight: Option<(View<'k, f32>, Value<'k, f32>)>,
    storage: Scalar,
}

impl<'k> Norm<'k> {
    /// Takes the root mean square of the head whose components are `raw(d)`: four neighbouring squares a lane, then
    /// the lanes, as in every norm.
    fn new(
        k: &'k Builder,
        shape: &Shape,
        arithmetic: Arithmetic,
        storage: Scalar,
        weight: Option<View<'k, f32>>,
        raw: impl Fn(Value<'k, i32>) -> Value<'k, f32>,
    ) -> Self {
        let weight = weight.map(|weight| {
            let neighbours = norm::contiguous(shape.head_dim);
            let squares = k.fold(k.lane_strided(shape.head_dim, neighbours), 0.0, |sum, d| {
                let v = raw(d);
                arithmetic.add_product(sum, v, v)
            });
            (weight, norm::inverse_rms(squares.simd_sum(), shape.head_dim, shape.norm_eps))
        });
        Self { weight, storage }
    }

    /// Component `d`, which is `value` before the norm.
    fn of(&self, value: Value<'k, f32>, d: Value<'k, i32>) -> Value<'k, f32> {
        let Some((weight, scale)) = self.weight else { return value };
        as_stored(as_stored(value * scale, self.storage) * weight.at([d]), self.storage)
    }
}
