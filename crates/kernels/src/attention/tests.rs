//! Each attention against softmax in float64, on shapes with tails, with a poisoned cache beyond the chunk.

use tilewright_tile::{Kernel, Report, Scalar, verify};

use super::*;
use crate::prefill::testing::{Data, assert_close, kept, noise, outputs};

/// Where the rows of a chunk lie.
#[derive(Clone, Copy, Debug)]
struct At {
    rows: u32,
    start: u32,
    valid: u32,
}

fn shape(heads: u32, kv_heads: u32, head_dim: u32, capacity: u32) -> Shape {
    Shape { heads, kv_heads, head_dim, capacity, ..Shape::QWEN3_TINY }
}

/// Queries (zero in padding), keys and values (NaN from where nothing may be seen), control.
fn inputs(shape: &Shape, at: At) -> [(&'static str, Data); 4] {
    let width = shape.q_width();
    let mut q = noise(at.rows * width, 1);
    q[(at.valid * width) as usize..].fill(0.0);
    let past = |seed| {
        let mut cache = noise(shape.kv_width() * shape.capacity, seed);
        for row in cache.chunks_mut((shape.capacity * shape.head_dim) as usize) {
            row[((at.start + at.valid) * shape.head_dim) as usize..].fill(f32::NAN);
        }
        cache
    };
    let control = Data::Words(vec![at.start as i32, at.valid as i32]);
    [
        ("q", Data::Floats(q)),
        ("keys", Data::Floats(past(2))),
        ("values", Data::Floats(past(3))),
        ("control", control),
    ]
}

/// Softmax of the scores, weighted sum of the values, in f64; zero in padding.
fn reference(shape: &Shape, chunk: &Chunk, at: At) -> Vec<f64> {
    let [(_, Data::Floats(q)), (_, Data::Floats(keys)), (_, Data::Floats(values)), _] = inputs(shape, at)
    else {
        panic!("inputs are floats");
    };
    let (q, keys, values) =
        (kept(&q, chunk.activations), kept(&keys, chunk.cache), kept(&values, chunk.cache));
    let (dim, heads) = (shape.head_dim as usize, shape.heads as usize);
    let mut out = vec![0.0; q.len()];
    for row in 0..at.valid as usize {
        for head in 0..heads {
            let of = |cache: &'_ [f64], t: usize| -> Vec<f64> {
                let first = (head / shape.group() as usize * shape.capacity as usize + t) * dim;
                cache[first..first + dim].to_vec()
            };
            let q = &q[(row * heads + head) * dim..][..dim];
            let dot = |k: Vec<f64>| k.iter().zip(q).map(|(k, q)| k * q).sum::<f64>() / (dim as f64).sqrt();
            let scores: Vec<f64> = (0..=at.start as usize + row).map(|t| dot(of(&keys, t))).collect();
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = scores.iter().map(|s| (s - most).exp()).sum();
            for (t, score) in scores.iter().enumerate() {
                let weight = (score - most).exp() / total;
                for (d, v) in of(&values, t).into_iter().enumerate() {
                    out[(row * heads + head) * dim + d] += weight * v;
                }
            }
        }
    }
    out
}

/// A chunk in the middle, one with padding, one without tokens, one at the end of the cache.
const PLACES: [At; 4] = [
    At { rows: 40, start: 0, valid: 40 },
    At { rows: 37, start: 21, valid: 13 },
    At { rows: 33, start: 5, valid: 0 },
    At { rows: 9, start: 71, valid: 9 },
];

type Build = fn(&Shape, &Chunk) -> Kernel;

fn check(name: &str, build: Build, shapes: &[Shape], activations: Scalar, cache: Scalar, tolerance: f64) {
    for shape in shapes {
        for at in PLACES {
            let chunk = Chunk { cache, ..Chunk::new(at.rows, activations) };
            let out = outputs(build(shape, &chunk), &inputs(shape, at));
            let what = format!("{name} of {} x {}, {at:?}", shape.heads, shape.head_dim);
            assert_close(&what, &out["out"], &reference(shape, &chunk, at), tolerance);
        }
    }
}

fn shapes() -> [Shape; 3] {
    [shape(4, 2, 32, 80), shape(3, 1, 64, 80), shape(2, 2, 16, 80)]
}

#[test]
fn query_tiled_attention_sees_its_causal_prefix() {
    check("query tiled", query_tiled, &shapes(), Scalar::F32, Scalar::F32, 1e-5);
    check("query tiled", query_tiled, &[shape(2, 1, 128, 80)], Scalar::F32, Scalar::F32, 1e-5);
    check("query tiled", query_tiled, &[shape(2, 1, 80, 80)], Scalar::F32, Scalar::F32, 1e-5);
    check("query tiled", query_tiled, &shapes()[..1], Scalar::F16, Scalar::F16, 1e-3);
    check("query tiled", query_tiled, &shapes()[..1], Scalar::Bf16, Scalar::Bf16, 8e-3);
}

#[test]
fn matrix_attention_sees_its_causal_prefix() {
    for (name, build) in [
        ("direct", matrix_direct as Build),
        ("reused", matrix_reused as Build),
        ("separate", matrix_separate as Build),
    ] {
        check(name, build, &shapes(), Scalar::F32, Scalar::F32, 1e-5);
        check(name, build, &[shape(2, 1, 80, 80)], Scalar::F32, Scalar::F32, 1e-5);
        check(name, build, &shapes()[..1], Scalar::F16, Scalar::F16, 1e-3);
        check(name, build, &shapes()[..1], Scalar::Bf16, Scalar::Bf16, 8e-3);
    }
}

#[test]
fn plain_attention_sees_its_causal_prefix() {
    check("plain", plain, &shapes(), Scalar::F32, Scalar::F32, 1e-5);
    check("plain", plain, &shapes(), Scalar::F32, Scalar::F16, 1e-5);
    check("plain", plain, &[shape(2, 1, 80, 80)], Scalar::F32, Scalar::F16, 1e-5);
}

#[test]
fn grouped_attention_sees_its_causal_prefix() {
    let groups = [shape(1, 1, 32, 80), shape(6, 2, 32, 80), shape(4, 1, 16, 80), shape(7, 1, 16, 80)];
    check("grouped", grouped, &shapes(), Scalar::F32, Scalar::F16, 1e-5);
    check("grouped", grouped, &groups, Scalar::F32, Scalar::F16, 1e-5);
}

#[test]
fn shared_memory_at_the_published_shape_is_as_stated() {
    let chunk = Chunk::new(512, Scalar::F32);
    for (build, bytes) in [
        (query_tiled as Build, 16 * 1024),
        (matrix_direct as Build, 4 * 1024),
        (matrix_reused as Build, 19 * 1024),
        (matrix_separate as Build, 27 * 1024),
    ] {
        let kernel = verify(build(&Shape::QWEN3_0_6B, &chunk)).unwrap();
        assert_eq!(Report::new(&kernel).shared_bytes, bytes, "{}", kernel.name());
    }
}

#[test]
fn whole_tiles_are_read_without_a_test() {
    let kernel = verify(matrix_direct(&Shape::QWEN3_0_6B, &Chunk::new(512, Scalar::F32))).unwrap();
    let report = Report::new(&kernel);
    // The loop over whole tiles; the loop over the rest is guarded.
    assert_eq!((report.loops_interior, report.loops), (1, 2), "{report}");
    assert_eq!(report.fast["fast_exp2"], 2 * 2 * 3);
}
