//! Matrix-tiled attention with operands in shared memory: the two earlier layouts (E65).

use tilewright_tile::{Builder, Factor, Kernel, Launch, Matrix, Value, View, kernel};

use super::matrix_direct::{BLOCK, SIMD_GROUPS};
use super::softmax::{Bridge, KEYS, ROWS};
use crate::prefill::chunk::{Chunk, each_four, stage};
use crate::shape::Shape;

/// Matrix-tiled attention that keeps queries in fragments and reuses their storage for keys and values.
///
/// 16 KiB for 32 queries, then for 16 keys and 16 values; with the bridge 19 KiB at heads of 128 in f32.
pub fn matrix_reused(shape: &Shape, chunk: &Chunk) -> Kernel {
    let Chunk { rows, activations, cache, .. } = *chunk;
    let head_dim = shape.head_dim;
    let launch = Launch::grid([shape.heads, rows.div_ceil(BLOCK), 1]).threads(SIMD_GROUPS * 32).alone();
    kernel(format!("matrix_attention_reused_{activations}"), launch, |k| {
        let memory = Memory::declare(k, shape, chunk);
        let storage = k.shared::<f32>("storage", BLOCK * head_dim);
        let queries = storage.view("queries", [BLOCK, head_dim]).stored(cache);
        let keys = storage.view("key_tile", [KEYS, head_dim]).stored(cache);
        let values = storage.view("value_tile", [KEYS, head_dim]).offset(KEYS * head_dim).stored(cache);
        let bridge = Bridge::new(k);

        let at = memory.place(k, shape, chunk);
        let (scale, parts) = (shape.attention_scale() * std::f32::consts::LOG2_E, head_dim / 8);
        let (mine, zero) = (k.simd_group() * ROWS, k.i32(0));

        stage(k, (BLOCK, head_dim), at.q, [at.block, zero], queries);
        k.barrier();
        let query: Vec<Factor<'_>> = (0..parts).map(|d| queries.factor((mine, d * 8))).collect();
        k.barrier();
        let (seen, acc) = k.fold(k.below(at.end).step(KEYS), Bridge::none(k, parts), |(seen, acc), tile| {
            stage(k, (KEYS, head_dim), at.keys, [tile, zero], keys);
            stage(k, (KEYS, head_dim), at.values, [tile, zero], values);
            k.barrier();
            for half in 0..2 {
                bridge.put(half, product(k, &query, keys, half));
            }
            k.simd_barrier();
            let seen = bridge.step(k, scale, |row| at.position(mine + row), tile, seen);
            k.simd_barrier();
            let acc = mix(&bridge, values, acc);
            k.barrier();
            (seen, acc)
        });
        bridge.finish(k, |row| at.is_valid(mine + row), seen);
        k.simd_barrier();
        put_out(k, &bridge, queries, acc, &at);
    })
}

/// Matrix-tiled attention that keeps queries in shared memory beside one tile used for keys, then for values.
///
/// 16 KiB for 32 queries and 8 KiB for 16 keys or values; with the bridge 27 KiB at heads of 128 in f32.
pub fn matrix_separate(shape: &Shape, chunk: &Chunk) -> Kernel {
    let Chunk { rows, activations, cache, .. } = *chunk;
    let head_dim = shape.head_dim;
    let launch = Launch::grid([shape.heads, rows.div_ceil(BLOCK), 1]).threads(SIMD_GROUPS * 32).alone();
    kernel(format!("matrix_attention_separate_{activations}"), launch, |k| {
        let memory = Memory::declare(k, shape, chunk);
        let queries = k.scratch::<f32>("queries", [BLOCK, head_dim]).stored(cache);
        let tile_of = k.scratch::<f32>("key_or_value_tile", [KEYS, head_dim]).stored(cache);
        let bridge = Bridge::new(k);

        let at = memory.place(k, shape, chunk);
        let (scale, parts) = (shape.attention_scale() * std::f32::consts::LOG2_E, head_dim / 8);
        let (mine, zero) = (k.simd_group() * ROWS, k.i32(0));

        stage(k, (BLOCK, head_dim), at.q, [at.block, zero], queries);
        let (seen, acc) = k.fold(k.below(at.end).step(KEYS), Bridge::none(k, parts), |(seen, acc), tile| {
            stage(k, (KEYS, head_dim), at.keys, [tile, zero], tile_of);
            k.barrier();
            let query: Vec<Factor<'_>> = (0..parts).map(|d| queries.factor((mine, d * 8))).collect();
            for half in 0..2 {
                bridge.put(half, product(k, &query, tile_of, half));
            }
            k.barrier();
            let seen = bridge.step(k, scale, |row| at.position(mine + row), tile, seen);
            stage(k, (KEYS, head_dim), at.values, [tile, zero], tile_of);
            k.barrier();
            let acc = mix(&bridge, tile_of, acc);
            k.barrier();
            (seen, acc)
        });
        bridge.finish(k, |row| at.is_valid(mine + row), seen);
        k.barrier();
        put_out(k, &bridge, queries, acc, &at);
    })
}

/// The device views of both.
struct Memory<'k> {
    q: View<'k, f32>,
    keys: View<'k, f32>,
    values: View<'k, f32>,
    control: View<'k, i32>,
    out: View<'k, f32>,
}

/// Where a threadgroup is, and its part of the views.
struct At<'k> {
    block: Value<'k, i32>,
    start: Value<'k, i32>,
    valid: Value<'k, i32>,
    end: Value<'k, i32>,
    q: View<'k, f32>,
    keys: View<'k, f32>,
    values: View<'k, f32>,
    out: View<'k, f32>,
}

impl<'k> Memory<'k> {
    fn declare(k: &'k Builder, shape: &Shape, chunk: &Chunk) -> Self {
        let Shape { heads, kv_heads, head_dim, capacity, .. } = *shape;
        let (by_row, by_head) = ([heads, chunk.rows, head_dim], [head_dim, heads * head_dim, 1]);
        let past = [kv_heads, capacity, head_dim];
        Self {
            q: k.read::<f32>("q", by_row).strides(by_head).stored(chunk.activations).guarded_axes(&[1]),
            keys: k.read::<f32>("keys", past).stored(chunk.cache),
            values: k.read::<f32>("values", past).stored(chunk.cache),
            control: k.read::<i32>("control", [2]),
            out: k.write::<f32>("out", by_row).strides(by_head).stored(chunk.activations).guarded_axes(&[1]),
        }
    }

    fn place(&self, k: &'k Builder, shape: &Shape, chunk: &Chunk) -> At<'k> {
        let (start, valid) = chunk.place(shape, self.control);
        let (head, block) = (k.group_axis(0), k.group_axis(1) * BLOCK);
        let end = chunk.horizon(shape, (start, valid), block, BLOCK);
        let past = |v: View<'k, f32>| v.limit(1, end).slice(head / shape.group());
        let (keys, values) = (past(self.keys), past(self.values));
        At { block, start, valid, end, q: self.q.slice(head), keys, values, out: self.out.slice(head) }
    }
}

impl<'k> At<'k> {
    /// The position of row `row` of the block.
    fn position(&self, row: Value<'k, i32>) -> Value<'k, i32> {
        self.start + self.block + row
    }

    /// Whether row `row` of the block holds a token.
    fn is_valid(&self, row: Value<'k, i32>) -> Value<'k, bool> {
        (self.block + row).lt(self.valid)
    }
}

/// Scores of a SIMD group's queries with keys `8 * half..` of a tile.
fn product<'k>(k: &'k Builder, query: &[Factor<'k>], keys: View<'k, f32>, half: u32) -> Value<'k, Matrix> {
    let key = |d: u32| keys.factor_transposed((half * 8, d * 8));
    (0..).zip(query).fold(k.fragment(0.0), |s, (d, &q)| s.multiply_add(q, key(d)))
}

/// The output so far, shrunk, plus the weighted values of a tile.
fn mix<'k>(
    bridge: &Bridge<'k>,
    values: View<'k, f32>,
    acc: Vec<Value<'k, Matrix>>,
) -> Vec<Value<'k, Matrix>> {
    let (factors, weights) = (bridge.factors(), [0, 1].map(|half| bridge.weights(half)));
    let mix = |(d, acc): (u32, Value<'k, Matrix>)| {
        let value = |half: u32| values.fragment((half * 8, d * 8));
        (acc * factors).multiply_add(weights[0], value(0)).multiply_add(weights[1], value(1))
    };
    (0..).zip(acc).map(mix).collect()
}

/// Divides and writes the output, each SIMD group its own rows by way of the queries' storage.
fn put_out<'k>(
    k: &'k Builder,
    bridge: &Bridge<'k>,
    storage: View<'k, f32>,
    acc: Vec<Value<'k, Matrix>>,
    at: &At<'k>,
) {
    let (mine, divisor) = (k.simd_group() * ROWS, bridge.factors());
    let fours = acc.len() as u32 * 2;
    for (d, acc) in (0..).zip(acc) {
        storage.set_fragment((mine, d * 8), acc / divisor);
    }
    k.simd_barrier();
    each_four(k, (ROWS, fours), (32, k.lane()), |row, four| {
        let (row, column) = (mine + row, four * 4);
        at.out.set4((at.block + row, column), storage.at4((row, column)));
    });
}
