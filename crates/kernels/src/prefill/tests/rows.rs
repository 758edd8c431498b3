//! Row operations, and what goes into the cache.

use tilewright_tile::{Kernel, Scalar};

use crate::format::Format;
use crate::parts::{Arithmetic, Exponential};
use crate::prefill::testing::{Data, assert_close, kept, noise, outputs};
use crate::prefill::{CacheWrite, Chunk, rotate, rows};
use crate::shape::Shape;

const SHAPE: Shape = Shape { hidden: 132, intermediate: 36, vocab: 50, capacity: 24, ..Shape::QWEN3_TINY };
const STORAGES: [(Scalar, f64); 3] = [(Scalar::F32, 2e-6), (Scalar::F16, 2e-3), (Scalar::Bf16, 2e-2)];

fn control(start: u32, valid: u32) -> (&'static str, Data) {
    ("control", Data::Words(vec![start as i32, valid as i32]))
}

#[test]
fn embedding_takes_rows_of_tokens_and_zeros_padding() {
    let Shape { vocab, hidden, .. } = SHAPE;
    let table = noise(vocab * hidden, 1);
    for (storage, _) in STORAGES {
        let kernel = rows::embed(&SHAPE, &Chunk::new(5, storage), Format::Float(storage));
        // What a padding row's token would be must not matter.
        let tokens = Data::Words(vec![49, 0, 7, -5, 1000]);
        let inputs = [("tokens", tokens), ("embedding", Data::Floats(table.clone())), control(3, 3)];
        let x = outputs(kernel, &inputs);
        let row = |t: usize| kept(&table[t * hidden as usize..][..hidden as usize], storage);
        let expected = [row(49), row(0), row(7), vec![0.0; 2 * hidden as usize]].concat();
        assert_close("embedding", &x["x"], &expected, 0.0);
    }
}

/// `x / rms(x) · w` of rows of `w.len()`.
fn normed(x: &[f64], w: &[f64], eps: f32) -> Vec<f64> {
    let row = |x: &[f64]| -> Vec<f64> {
        let square = x.iter().map(|v| v * v).sum::<f64>() / x.len() as f64;
        let scale = (square + f64::from(eps)).sqrt().recip();
        x.iter().zip(w).map(|(x, w)| x * scale * w).collect()
    };
    x.chunks(w.len()).flat_map(row).collect()
}

#[test]
fn norms_follow_the_formula() {
    for hidden in [132, 64, 1024, 4100] {
        let shape = Shape { hidden, ..SHAPE };
        for (storage, tolerance) in STORAGES {
            for arithmetic in [Arithmetic::Separate, Arithmetic::Fused] {
                let chunk = Chunk::new(3, storage);
                let (x, w) = (noise(3 * hidden, 1), noise(hidden, 2));
                let (kx, kw) = (kept(&x, storage), kept(&w, storage));
                let inputs = [("x", Data::Floats(x)), ("w", Data::Floats(w)), control(0, 2)];
                let expected = normed(&kx, &kw, shape.norm_eps);
                let y = outputs(rows::rms_norm(&shape, &chunk, arithmetic), &inputs);
                assert_close("norm", &y["y"], &expected, tolerance);
                let y = outputs(rows::last_norm(&shape, &chunk, arithmetic), &inputs);
                let last = &expected[hidden as usize..2 * hidden as usize];
                assert_close("norm of the last valid row", &y["y"], last, tolerance);
            }
        }
    }
}

#[test]
fn swiglu_is_right_far_from_zero_on_either_side() {
    let width = SHAPE.intermediate as usize;
    for (storage, tolerance) in STORAGES {
        for exponential in [Exponential::Precise, Exponential::Fast] {
            let mut gate_up = noise(3 * 2 * width as u32, 1);
            (gate_up[0], gate_up[1], gate_up[2]) = (200.0, -200.0, 0.0);
            let k = kept(&gate_up, storage);
            let silu = |g: f64| g / (1.0 + (-g).exp());
            let row = |r: &[f64]| (0..width).map(|i| silu(r[i]) * r[width + i]).collect::<Vec<f64>>();
            let expected: Vec<f64> = k.chunks(2 * width).flat_map(row).collect();
            let kernel = rows::swiglu(&SHAPE, &Chunk::new(3, storage), exponential);
            let got = outputs(kernel, &[("gate_up", Data::Floats(gate_up))]);
            assert_close("swiglu", &got["activation"], &expected, tolerance);
        }
    }
}

#[test]
fn residual_adds_and_the_last_valid_row_is_found() {
    let size = 3 * SHAPE.hidden;
    for (storage, tolerance) in STORAGES {
        let (x, y) = (noise(size, 1), noise(size, 2));
        let (kx, ky) = (kept(&x, storage), kept(&y, storage));
        let chunk = Chunk::new(3, storage);
        let inputs = [("x", Data::Floats(x)), ("y", Data::Floats(y))];
        let sum: Vec<f64> = kx.iter().zip(&ky).map(|(x, y)| x + y).collect();
        assert_close("sum", &outputs(rows::residual(&SHAPE, &chunk), &inputs)["x"], &sum, tolerance);
        for (valid, row) in [(0, 0), (1, 0), (2, 1), (3, 2)] {
            let [x, _] = &inputs;
            let Data::Floats(numbers) = &x.1 else { panic!() };
            let inputs = [("x", Data::Floats(numbers.clone())), control(9, valid)];
            let got = outputs(rows::last_row(&SHAPE, &chunk), &inputs);
            let hidden = SHAPE.hidden as usize;
            assert_close("last row", &got["y"], &kx[row * hidden..][..hidden], 0.0);
        }
    }
}

/// A case of `rotate`: five rows of which three hold tokens, from position 20 of 24.
struct Heads {
    shape: Shape,
    chunk: Chunk,
    inputs: Vec<(&'static str, Data)>,
}

fn heads(shape: Shape, activations: Scalar, cache: Scalar) -> Heads {
    let chunk = Chunk { cache, ..Chunk::new(5, activations) };
    let mut inputs = vec![
        ("qkv", Data::Floats(noise(5 * shape.qkv_width(), 1))),
        ("rotary", Data::Floats(noise(shape.capacity * shape.head_dim, 2))),
        control(20, 3),
    ];
    if shape.qk_norm {
        inputs.push(("q_norm", Data::Floats(noise(shape.head_dim, 3))));
        inputs.push(("k_norm", Data::Floats(noise(shape.head_dim, 4))));
    }
    if shape.qkv_bias {
        inputs.push(("bias", Data::Floats(noise(shape.qkv_width(), 5))));
    }
    Heads { shape, chunk, inputs }
}

impl Heads {
    fn numbers(&self, name: &str, storage: Scalar) -> Option<Vec<f64>> {
        self.inputs.iter().find(|(n, _)| *n == name).map(|(_, data)| match data {
            Data::Floats(numbers) => kept(numbers, storage),
            _ => panic!("{name} holds floats"),
        })
    }

    /// A head of a row after bias, norm and (unless it is a value) rotation.
    fn head(&self, row: usize, head: usize) -> Vec<f64> {
        let Self { shape, chunk, .. } = self;
        let (dim, storage) = (shape.head_dim as usize, chunk.activations);
        let all = shape.qkv_width() as usize;
        let mut x = self.numbers("qkv", storage).unwrap()[row * all + head * dim..][..dim].to_vec();
        if let Some(bias) = self.numbers("bias", storage) {
            x.iter_mut().zip(&bias[head * dim..]).for_each(|(x, b)| *x += b);
        }
        let (heads, kv_heads) = (shape.heads as usize, shape.kv_heads as usize);
        if head >= heads + kv_heads {
            return x;
        }
        let norm = if head < heads { "q_norm" } else { "k_norm" };
        if let Some(w) = self.numbers(norm, storage) {
            x = normed(&x, &w, shape.norm_eps);
        }
        let turns = self.numbers("rotary", Scalar::F32).unwrap();
        let turn =
            |i: usize| (turns[((20 + row) * dim / 2 + i) * 2], turns[((20 + row) * dim / 2 + i) * 2 + 1]);
        let half = dim / 2;
        let first = (0..half).map(|i| x[i] * turn(i).0 - x[i + half] * turn(i).1);
        let second = (0..half).map(|i| x[i + half] * turn(i).0 + x[i] * turn(i).1);
        first.chain(second).collect()
    }

    /// Compares `q` and every cache; slots that no valid row has must not be written.
    fn check(&self, kernel: Kernel, caches: &[(&str, bool)], tolerance: f64) {
        let out = outputs(kernel, &self.inputs);
        let Shape { heads, kv_heads, head_dim, capacity, .. } = self.shape;
        let (heads, kv_heads, dim) = (heads as usize, kv_heads as usize, head_dim as usize);
        let q = (0..3).flat_map(|row| (0..heads).map(move |head| (row, head)));
        let mut expected: Vec<f64> = q.flat_map(|(row, head)| self.head(row, head)).collect();
        expected.resize(5 * heads * dim, 0.0);
        assert_close("q", &out["q"], &expected, tolerance);
        for (name, is_value) in caches {
            for (slot, got) in out[*name].chunks(dim).enumerate() {
                let (head, position) = (slot / capacity as usize, slot % capacity as usize);
                if (20..23).contains(&position) {
                    let first = if *is_value { heads + kv_heads } else { heads };
                    assert_close(name, got, &self.head(position - 20, first + head), tolerance);
                } else {
                    assert!(got.iter().all(|v| v.is_nan()), "{name}: position {position} is written");
                }
            }
        }
    }
}

const PLAIN: Shape = Shape { qk_norm: false, qkv_bias: true, head_dim: 20, ..SHAPE };

#[test]
fn heads_are_turned_and_valid_rows_cached() {
    for shape in [SHAPE, PLAIN, Shape { head_dim: 128, heads: 6, ..SHAPE }] {
        for (storage, tolerance) in STORAGES {
            for arithmetic in [Arithmetic::Separate, Arithmetic::Fused] {
                let case = heads(shape, storage, storage);
                let kernel = rotate(&case.shape, &case.chunk, arithmetic, CacheWrite::One);
                case.check(kernel, &[("keys", false), ("values", true)], 2.0 * tolerance);
            }
        }
    }
}

#[test]
fn a_mirror_holds_the_same_in_f16() {
    let case = heads(SHAPE, Scalar::F32, Scalar::F32);
    let kernel = rotate(&case.shape, &case.chunk, Arithmetic::Separate, CacheWrite::Mirrored);
    let caches = [("keys", false), ("values", true), ("packed_keys", false), ("packed_values", true)];
    case.check(kernel, &caches, 2e-3);
}
