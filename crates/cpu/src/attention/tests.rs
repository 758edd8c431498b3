//! Attention against float64, and the same bits on every path.

use half::f16;
use proptest::prelude::*;
use tilewright_model::Config;

use super::{Heads, Load, Parts, Queries, Row, attend_rows, attend_run};
use crate::kv::{Count, KvCache, Layout, SEGMENT};
use crate::pool::Pool;
use crate::simd::Isa;
use crate::testing::config;

/// Reproducible values in [-1, 1).
fn random(seed: u64, len: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

/// A sequence's queries, keys and values of one layer.
struct Problem<E: Load> {
    heads: Heads,
    len: usize,
    queries: Vec<f32>,
    cache: KvCache<E>,
}

impl<E: Load> Problem<E> {
    fn new(heads: Heads, len: usize, seed: u64) -> Self {
        let config = Config { layers: 1, kv_heads: heads.kv_heads, head_dim: heads.head_dim, ..config() };
        let mut cache = KvCache::new(Layout::new(&config), Count::default());
        cache.reach(0, len).unwrap();
        let kv = random(seed, 2 * len * heads.kv_heads * heads.head_dim);
        for (index, kv) in kv.chunks_exact(2 * heads.head_dim).enumerate() {
            let (position, head) = (index / heads.kv_heads, index % heads.kv_heads);
            let (key, value) = kv.split_at(heads.head_dim);
            let mut to = cache.heads_mut(0, position / SEGMENT).unwrap().nth(head).unwrap();
            to.store(Isa::detect(), position % SEGMENT, key, value);
        }
        let queries = random(seed + 1, len * heads.width());
        Self { heads, len, queries, cache }
    }

    fn run(&self, pool: &Pool, isa: Isa, rows: std::ops::Range<usize>) -> Vec<f32> {
        let width = self.heads.width();
        let mut out = vec![0.0; rows.len() * width];
        let queries = Queries { heads: self.heads, data: &self.queries[rows.start * width..], stride: width };
        attend_run(pool, isa, 0, &self.cache, rows.start, queries, &mut out);
        out
    }

    fn single(&self, pool: &Pool, isa: Isa, position: usize) -> Vec<f32> {
        let width = self.heads.width();
        let mut out = vec![0.0; width];
        let queries = Queries { heads: self.heads, data: &self.queries[position * width..], stride: width };
        let row = [Row { cache: &self.cache, position }];
        attend_rows(pool, isa, 0, &row, queries, &mut out, &mut Parts::default());
        out
    }

    /// By the definition, in f64.
    fn truth(&self, position: usize) -> Vec<f64> {
        let Heads { group, head_dim, .. } = self.heads;
        let (keys, values) = self.cache.copy(0, self.len);
        let mut out = Vec::new();
        let queries = &self.queries[position * self.heads.width()..][..self.heads.width()];
        for (head, query) in queries.chunks_exact(head_dim).enumerate() {
            let of = |data: &[f32], key: usize, d: usize| {
                f64::from(data[((head / group) * self.len + key) * head_dim + d])
            };
            let scores: Vec<f64> = (0..=position)
                .map(|key| (0..head_dim).map(|d| f64::from(query[d]) * of(&keys, key, d)).sum())
                .collect();
            let most = scores.iter().copied().fold(f64::MIN, f64::max);
            let weights: Vec<f64> = scores.iter().map(|s| (s - most).exp()).collect();
            let sum: f64 = weights.iter().sum();
            out.extend((0..head_dim).map(|d| {
                weights.iter().enumerate().map(|(key, w)| w / sum * of(&values, key, d)).sum::<f64>()
            }));
        }
        out
    }
}

/// Runs, rows and every instruction set against the definition; threads and splits against each other, by bits.
fn check<E: Load>(heads: Heads, len: usize, seed: u64, split: usize) {
    let problem = Problem::<E>::new(heads, len, seed);
    let width = heads.width();
    for isa in Isa::available() {
        let one = Pool::new(1);
        let whole = problem.run(&one, isa, 0..len);
        for position in [0, split, len / 2, len - 1] {
            let row = &whole[position * width..][..width];
            for (i, (got, want)) in row.iter().zip(problem.truth(position)).enumerate() {
                let error = (f64::from(*got) - want).abs();
                assert!(error <= 1e-5, "{isa}, {heads:?}, position {position}, {i}: {got} is not {want}");
            }
        }
        for threads in [1, 2, 3] {
            let pool = Pool::new(threads);
            let mut parts = problem.run(&pool, isa, 0..split);
            parts.extend(problem.run(&pool, isa, split..len));
            assert!(
                parts == whole,
                "{isa}, {threads} threads, {heads:?}: split at {split} of {len} changes bits"
            );
            for position in [0, split, len - 1] {
                let row = problem.single(&pool, isa, position);
                assert!(
                    row == whole[position * width..][..width],
                    "{isa}, {heads:?}: row {position} alone differs"
                );
            }
        }
    }
}

#[test]
fn shapes_of_real_models() {
    for (kv_heads, group, head_dim) in [(2, 2, 128), (1, 3, 64), (1, 8, 32), (3, 1, 256), (2, 7, 24)] {
        let heads = Heads { kv_heads, group, head_dim };
        check::<f32>(heads, 300, 7, 200);
        check::<f16>(heads, 300, 8, 256);
    }
}

#[test]
fn a_poisoned_position_spoils_only_those_that_see_it() {
    let heads = Heads { kv_heads: 1, group: 2, head_dim: 32 };
    let mut problem = Problem::<f32>::new(heads, 100, 3);
    let clean = problem.run(&Pool::new(1), Isa::detect(), 0..100);
    let mut heads_mut = problem.cache.heads_mut(0, 0).unwrap();
    heads_mut.next().unwrap().store(Isa::detect(), 70, &[f32::NAN; 32], &[f32::NAN; 32]);
    drop(heads_mut);
    let spoiled = problem.run(&Pool::new(1), Isa::detect(), 0..100);
    let width = heads.width();
    assert!(clean[..70 * width] == spoiled[..70 * width]);
    assert!(spoiled[70 * width..].iter().all(|v| v.is_nan()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn any_shape(
        kv_heads in 1_usize..4,
        group in 1_usize..6,
        half_dim in 1_usize..40,
        len in 2_usize..600,
        seed in 0_u64..1000,
        at in 0.0_f64..1.0,
    ) {
        let heads = Heads { kv_heads, group, head_dim: 2 * half_dim };
        let split = 1 + ((len - 1) as f64 * at) as usize;
        check::<f16>(heads, len, seed, split.min(len - 1));
    }
}
