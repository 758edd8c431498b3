//! Attention in three forms: the programs the language was made for.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod common;

use common::{assert_close, run_all};
use tilewright_tile::interp::{Bound, Memory};
use tilewright_tile::testing::trial::noise;
use tilewright_tile::{Kernel, Launch, Scalar, Value, kernel, verify};

const HEADS: u32 = 2;
const DIM: u32 = 64;
const CAPACITY: u32 = 80;

/// Softmax of the scores, weighted sum of the values, in f64: `queries` rows that see `first + row + 1` keys.
fn reference(q: &[f32], k: &[f32], v: &[f32], queries: u32, first: u32) -> Vec<f64> {
    let (dim, capacity) = (DIM as usize, CAPACITY as usize);
    let mut out = Vec::new();
    for query in 0..queries as usize {
        for head in 0..HEADS as usize {
            let q = &q[(query * HEADS as usize + head) * dim..][..dim];
            let keys = first as usize + query + 1;
            let row = |of: &[f32], t: usize| -> Vec<f64> {
                of[(head * capacity + t) * dim..][..dim].iter().map(|&x| f64::from(x)).collect()
            };
            let dot = |a: &[f64]| a.iter().zip(q).map(|(a, &b)| a * f64::from(b)).sum::<f64>();
            let scores: Vec<f64> = (0..keys).map(|t| dot(&row(k, t)) / f64::from(DIM).sqrt()).collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = scores.iter().map(|s| (s - most).exp()).collect();
            let total: f64 = weights.iter().sum();
            for d in 0..dim {
                out.push((0..keys).map(|t| weights[t] / total * row(v, t)[d]).sum());
            }
        }
    }
    out
}

fn scale() -> f32 {
    (DIM as f32).sqrt().recip()
}

/// One query, one threadgroup a head; each SIMD group takes every eighth key, then all are merged.
fn decode() -> Kernel {
    kernel("decode_attention", Launch::groups(HEADS), |k| {
        let q = k.read::<f32>("q", [HEADS, DIM]);
        let keys = k.read::<f32>("keys", [HEADS, CAPACITY, DIM]);
        let values = k.read::<f32>("values", [HEADS, CAPACITY, DIM]);
        let control = k.read::<i32>("control", [2]);
        let out = k.write::<f32>("out", [HEADS, DIM]);
        let simds = k.simd_groups();
        let maxima = k.scratch::<f32>("maxima", [simds]);
        let sums = k.scratch::<f32>("sums", [simds]);
        let parts = k.scratch::<f32>("parts", [simds, DIM]);

        let (head, lane, simd) = (k.group_id(), k.lane(), k.simd_group());
        let count = control.at([1]).clamp(0, CAPACITY - 1) + 1;
        let query: Vec<_> = (0..2).map(|c| q.at((head, lane * 2 + c)) * scale()).collect();
        let none = (-1e30f32, 0.0f32, vec![0.0f32; 2]);
        let (most, sum, acc) = k.fold(k.simd_strided(count), none, |(most, sum, acc), t| {
            let parts =
                (0..2).fold(k.f32(0.0), |s, c| s.fma(query[c], keys.at((head, t, lane * 2 + c as i32))));
            let score = parts.simd_sum();
            let next = most.max(score);
            let (old, new) = ((most - next).exp(), (score - next).exp());
            let acc: Vec<_> =
                (0..2).map(|c| acc[c] * old + new * values.at((head, t, lane * 2 + c as i32))).collect();
            (next, sum * old + new, acc)
        });
        maxima.set_from_lane(0, [simd], most);
        sums.set_from_lane(0, [simd], sum);
        for c in 0..2 {
            parts.set((simd, lane * 2 + c), acc[c as usize]);
        }
        k.barrier();
        k.each(k.thread_strided(DIM, 1), |d| {
            let most = k.fold(0..simds, -1e30, |most, s| most.max(maxima.at([s])));
            let (total, value) = k.fold(0..simds, (0.0, 0.0), |(total, value), s| {
                let weight = (maxima.at([s]) - most).exp();
                (total + weight * sums.at([s]), value + weight * parts.at((s, d)))
            });
            out.set((head, d), value / total);
        });
    })
}

/// Eight queries a threadgroup, one a SIMD group; tiles of 16 keys and values pass through shared memory.
fn query_tiled(queries: u32) -> Kernel {
    const TILE: u32 = 16;
    kernel("query_tiled_attention", Launch::grid([HEADS, queries.div_ceil(8), 1]), |k| {
        let q = k.read::<f32>("q", [queries, HEADS, DIM]).guarded();
        let keys = k.read::<f32>("keys", [HEADS, CAPACITY, DIM]).guarded();
        let values = k.read::<f32>("values", [HEADS, CAPACITY, DIM]).guarded();
        let control = k.read::<i32>("control", [2]);
        let out = k.write::<f32>("out", [queries, HEADS, DIM]).guarded();
        let key_tile = k.scratch::<f32>("key_tile", [TILE, DIM]);
        let value_tile = k.scratch::<f32>("value_tile", [TILE, DIM]);

        let (head, lane) = (k.group_axis(0), k.lane());
        let row = k.group_axis(1) * 8 + k.simd_group();
        let start = control.at([0]).clamp(0, CAPACITY - 1);
        let position = start + row;
        let last = (start + (k.group_axis(1) * 8 + 8).min(queries)).min(CAPACITY);
        let (keys, values) = (keys.limit(1, last), values.limit(1, last));
        let query: Vec<_> = (0..2).map(|c| q.at((row, head, lane * 2 + c)) * scale()).collect();

        let none = (-1e30f32, 0.0f32, [0.0f32, 0.0]);
        let (_, sum, acc) = k.fold(k.below(last).step(TILE), none, |state, tile| {
            k.each(k.thread_strided(TILE * DIM, 1), |i| {
                key_tile.set((i / DIM, i % DIM), keys.at((head, tile + i / DIM, i % DIM)));
                value_tile.set((i / DIM, i % DIM), values.at((head, tile + i / DIM, i % DIM)));
            });
            k.barrier();
            let state = k.fold(0..TILE, state, |(most, sum, acc), t| {
                let dot =
                    (0..2).fold(k.f32(0.0), |s, c| s.fma(query[c], key_tile.at((t, lane * 2 + c as i32))));
                let score = (tile + t).le(position).select(dot.simd_sum(), -1e30);
                let next = most.max(score);
                let (old, new) = ((most - next).exp(), (score - next).exp());
                let new = (tile + t).le(position).select(new, 0.0);
                let acc = [0, 1].map(|c| acc[c as usize] * old + new * value_tile.at((t, lane * 2 + c)));
                (next, sum * old + new, acc)
            });
            k.barrier();
            state
        });
        for c in 0..2 {
            out.set((row, head, lane * 2 + c), acc[c as usize] / sum);
        }
    })
}

/// Four SIMD groups of eight queries each against 16 keys at a time, with matrix products; fragments come straight
/// from device memory, scores pass through shared memory for the softmax.
fn matrix_tiled(queries: u32) -> Kernel {
    let tiles = (DIM / 8) as usize;
    kernel("matrix_tiled_attention", Launch::grid([HEADS, queries.div_ceil(32), 1]).threads(128), move |k| {
        let q = k.read::<f32>("q", [HEADS, queries, DIM]).strides([DIM, HEADS * DIM, 1]).guarded();
        let keys = k.read::<f32>("keys", [HEADS, CAPACITY, DIM]);
        let values = k.read::<f32>("values", [HEADS, CAPACITY, DIM]);
        let control = k.read::<i32>("control", [2]);
        let out = k.write::<f32>("out", [HEADS, queries, DIM]).strides([DIM, HEADS * DIM, 1]).guarded();
        let scores = k.scratch::<f32>("scores", [32, 16]);
        let factors = k.scratch::<f32>("factors", [32, 8]);
        let edge = k.scratch::<f32>("edge", [4, 8, 8]);

        let (head, simd, lane) = (k.group_axis(0), k.simd_group(), k.lane());
        let block = k.group_axis(1) * 32;
        let (mine, first) = (simd * 8, block + simd * 8);
        let start = control.at([0]).clamp(0, CAPACITY - 1);
        let end = (start + (block + 32).min(queries)).min(CAPACITY);
        let (q, out) = (q.through(edge), out.through(edge));
        let (keys, values) = (keys.limit(1, end).through(edge), values.limit(1, end).through(edge));
        let log2e = std::f32::consts::LOG2_E * scale();

        let query: Vec<_> = (0..tiles).map(|d| q.fragment((head, first, d * 8))).collect();
        // A SIMD group has 8 rows and 32 lanes: four lanes a row, four keys each.
        let (row, part) = (lane / 4, lane % 4);
        let position = start + first + row;
        let none = (-1e30f32, 0.0f32, vec![k.fragment(0.0); tiles]);
        let (_, sum, acc) = k.fold(k.below(end).step(16), none, |(most, sum, acc), tile| {
            for half in [0, 8] {
                let score = (0..tiles).fold(k.fragment(0.0), |s, d| {
                    s.multiply_add(query[d], keys.factor_transposed((head, tile + half, d * 8)))
                });
                scores.set_fragment((mine, half), score);
            }
            k.simd_barrier();
            let mut score: Vec<Value<'_, f32>> = Vec::new();
            for n in 0..4 {
                let at = tile + part * 4 + n;
                let s = scores.at((mine + row, part * 4 + n)) * log2e;
                score.push(at.le(position).select(s, -1e30));
            }
            let local = score.iter().skip(1).fold(score[0], |m, &s| m.max(s));
            let next = [1, 2].iter().fold(local, |m, &bit| m.max(m.shuffle_xor(bit))).max(most);
            let weights: Vec<_> = score.iter().map(|&s| (s - next).fast_exp2()).collect();
            let old = (most - next).fast_exp2();
            let local = (weights[0] + weights[1]) + (weights[2] + weights[3]);
            let added = [1, 2].iter().fold(local, |s, &bit| s + s.shuffle_xor(bit));
            k.simd_barrier();
            for n in 0..4 {
                scores.set((mine + row, part * 4 + n), weights[n as usize]);
            }
            for n in 0..2 {
                factors.set((mine + row, part * 2 + n), old);
            }
            k.simd_barrier();
            let factor = factors.fragment((mine, 0));
            let acc = acc.iter().enumerate().map(|(d, &acc)| {
                [0, 8].iter().fold(acc * factor, |acc, &half| {
                    acc.multiply_add(scores.factor((mine, half)), values.factor((head, tile + half, d * 8)))
                })
            });
            let acc: Vec<_> = acc.collect();
            k.simd_barrier();
            (next, added.fma(sum, old), acc)
        });
        for n in 0..2 {
            factors.set((mine + row, part * 2 + n), sum.max(1e-30));
        }
        k.simd_barrier();
        let sum = factors.fragment((mine, 0));
        for (d, acc) in acc.into_iter().enumerate() {
            out.set_fragment((head, first, d * 8), acc / sum);
        }
    })
}

/// Runs an attention kernel over `queries` rows from position `first`; NaN fills the cache beyond what may be seen.
fn run(kernel: Kernel, queries: u32, first: u32) {
    let kernel = match verify(kernel) {
        Ok(kernel) => kernel,
        Err(rejection) => panic!("{rejection}"),
    };
    let q = noise(queries * HEADS * DIM, 1);
    let (mut keys, mut values) = (noise(HEADS * CAPACITY * DIM, 2), noise(HEADS * CAPACITY * DIM, 3));
    for head in 0..HEADS {
        for t in first + queries..CAPACITY {
            let at = ((head * CAPACITY + t) * DIM) as usize;
            keys[at..at + DIM as usize].fill(f32::NAN);
            values[at..at + DIM as usize].fill(f32::NAN);
        }
    }
    let mut memory = Memory::new();
    let control = memory.i32(&[first as i32, (first + queries) as i32 - 1]);
    let ids = [memory.f32(&q), memory.f32(&keys), memory.f32(&values), control];
    let out = memory.poison((queries * HEADS * DIM * 4) as usize);
    let bound: Vec<Bound> = ids.into_iter().chain([out]).map(|id| Bound::Buffer(memory.whole(id))).collect();
    run_all(&kernel, &mut memory, &bound).unwrap();
    let expected = reference(&q, &keys, &values, queries, first);
    assert_close(&memory.read_f32(out, Scalar::F32), &expected, 1e-5);
}

#[test]
fn decode_attention_attends_to_every_earlier_position() {
    for first in [0, 5, 31, 79] {
        run(decode(), 1, first);
    }
}

#[test]
fn query_tiled_attention_sees_its_causal_prefix() {
    for (queries, first) in [(8, 0), (13, 17), (40, 40)] {
        run(query_tiled(queries), queries, first);
    }
}

#[test]
fn matrix_tiled_attention_sees_its_causal_prefix() {
    for (queries, first) in [(32, 0), (13, 17), (40, 40)] {
        run(matrix_tiled(queries), queries, first);
    }
}
