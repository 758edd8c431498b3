//! Single kernels at odd shapes against float64, with poison where nothing may be read.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use tilewright_kernels::decode::{Options, attention, products, rows};
use tilewright_kernels::{Format, Shape};
use tilewright_model::tolerance::{Tolerance, compare};
use tilewright_tile::interp::{Bound, BufferId, Dispatch, Memory, Program, run};
use tilewright_tile::testing::trial::noise;
use tilewright_tile::{Kernel, Scalar, verify};

fn launch(kernel: Kernel, memory: &mut Memory, buffers: &[(&str, BufferId)]) {
    let kernel = verify(kernel).unwrap_or_else(|e| panic!("{e}"));
    let buffer = |name: &str| buffers.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("{name}")).1;
    let bound: Vec<Bound> = kernel
        .params()
        .iter()
        .map(|&param| Bound::Buffer(memory.whole(buffer(kernel.param_name(param)))))
        .collect();
    let dispatch = Dispatch { groups: kernel.launch().groups, bound: &bound };
    run(&Program::new(&kernel), memory, &dispatch).unwrap_or_else(|fault| panic!("{fault}"));
}

fn same(what: &str, got: &[f32], want: &[f64]) {
    compare(got, want, Tolerance::F32_STATE).unwrap_or_else(|mismatch| panic!("{what}: {mismatch}"));
}

/// A shape of these heads; nothing else matters to attention.
fn heads(heads: u32, kv_heads: u32, head_dim: u32, capacity: u32) -> Shape {
    Shape { heads, kv_heads, head_dim, capacity, ..Shape::QWEN3_TINY }
}

/// Attention of one token in f64.
fn attend(shape: &Shape, q: &[f32], keys: &[f32], values: &[f32], position: u32) -> Vec<f64> {
    let (dim, capacity) = (shape.head_dim as usize, shape.capacity as usize);
    let mut mixed = Vec::new();
    for (head, q) in q.chunks(dim).enumerate() {
        let kv = head / shape.group() as usize;
        let row = |of: &[f32], t: usize| -> Vec<f64> {
            of[(kv * capacity + t) * dim..][..dim].iter().map(|&x| f64::from(x)).collect()
        };
        let score = |t: usize| {
            let dot: f64 = row(keys, t).iter().zip(q).map(|(k, &q)| k * f64::from(q)).sum();
            (dot / (dim as f64).sqrt()).exp()
        };
        let weights: Vec<f64> = (0..=position as usize).map(score).collect();
        let sum: f64 = weights.iter().sum();
        let element =
            |d: usize| weights.iter().enumerate().map(|(t, w)| w * row(values, t)[d]).sum::<f64>() / sum;
        mixed.extend((0..dim).map(element));
    }
    mixed
}

/// Keys or values of which the positions after `position` have not been written.
fn cache(memory: &mut Memory, shape: &Shape, numbers: &[f32], position: u32, id: BufferId) {
    // The interpreter marks whole buffers only, so the future holds NaN: any use of it shows.
    let dim = shape.head_dim as usize;
    let mut bytes = Vec::new();
    for (n, x) in numbers.iter().enumerate() {
        let t = n / dim % shape.capacity as usize;
        bytes.extend(if t <= position as usize { *x } else { f32::NAN }.to_le_bytes());
    }
    memory.data_mut(id).copy_from_slice(&bytes);
}

#[test]
fn every_form_of_attention_follows_the_formula_at_odd_shapes() {
    let shapes = [
        heads(1, 1, 256, 40),
        heads(6, 2, 48, 9),
        heads(9, 3, 96, 33),
        heads(16, 8, 128, 20),
        heads(5, 1, 16, 70),
    ];
    for (n, shape) in (1..).zip(&shapes) {
        let size = shape.kv_width() * shape.capacity;
        let (q, keys, values) = (noise(shape.q_width(), n), noise(size, n + 50), noise(size, n + 90));
        let options = Options::F32;
        for position in [0, 1, 7, shape.capacity - 1] {
            let want = attend(shape, &q, &keys, &values, position);
            let mut memory = Memory::new();
            let (k, v) = (memory.poison(size as usize * 4), memory.poison(size as usize * 4));
            cache(&mut memory, shape, &keys, position, k);
            cache(&mut memory, shape, &values, position, v);
            let parts = 5;
            let mut given = vec![("q", memory.f32(&q)), ("keys", k), ("values", v)];
            given.push(("control", memory.i32(&[0, position as i32])));
            for (name, elements) in [
                ("mixed", shape.q_width()),
                ("maxima", shape.heads * parts),
                ("sums", shape.heads * parts),
                ("mixtures", shape.q_width() * parts),
            ] {
                given.push((name, memory.poison(elements as usize * 4)));
            }
            let mixed = given[4].1;
            let forms: [(&str, Vec<Kernel>); 3] = [
                ("a SIMD group a head", vec![attention::simd_per_head(shape, &options)]),
                ("key-parallel", vec![attention::key_parallel(shape, &options)]),
                (
                    "split",
                    vec![
                        attention::split_keys(shape, &options, parts),
                        attention::merge_parts(shape, &options, parts),
                    ],
                ),
            ];
            for (form, kernels) in forms {
                memory.forget(mixed);
                kernels.into_iter().for_each(|kernel| launch(kernel, &mut memory, &given));
                let what = format!("{form} at position {position} of {shape:?}");
                same(&what, &memory.read_f32(mixed, Scalar::F32), &want);
            }
        }
    }
}

/// `W·x` of `[rows, columns]` in f64.
fn multiply(w: &[f32], x: &[f32]) -> Vec<f64> {
    let row = |row: &[f32]| row.iter().zip(x).map(|(&w, &x)| f64::from(w) * f64::from(x)).sum();
    w.chunks(x.len()).map(row).collect()
}

#[test]
fn products_follow_the_formula_where_nothing_is_a_multiple_of_anything() {
    for (hidden, intermediate, vocab) in [(66, 50, 131), (100, 36, 13), (7, 9, 1)] {
        let shape = Shape { hidden, intermediate, vocab, qkv_bias: true, ..heads(3, 1, 10, 8) };
        let mut memory = Memory::new();
        let x = noise(hidden, 1);
        let w = noise(shape.qkv_width() * hidden, 2);
        let bias = noise(shape.qkv_width(), 3);
        let y = memory.poison(shape.qkv_width() as usize * 4);
        let given =
            [("x", memory.f32(&x)), ("weights", memory.f32(&w)), ("bias", memory.f32(&bias)), ("y", y)];
        launch(products::qkv(&shape, &Options::F32), &mut memory, &given);
        let want: Vec<f64> = multiply(&w, &x).iter().zip(&bias).map(|(y, &b)| y + f64::from(b)).collect();
        same("qkv", &memory.read_f32(y, Scalar::F32), &want);

        let w = noise(intermediate * 2 * hidden, 4);
        let activation = memory.poison(intermediate as usize * 4);
        let given = [("x", memory.f32(&x)), ("weights", memory.f32(&w)), ("activation", activation)];
        launch(products::gate_up(&shape, &Options::F32), &mut memory, &given);
        let both = multiply(&w, &x);
        let (gate, up) = both.split_at(intermediate as usize);
        let want: Vec<f64> = gate.iter().zip(up).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
        same("gate_up", &memory.read_f32(activation, Scalar::F32), &want);

        let inner = noise(intermediate, 5);
        let w = noise(hidden * intermediate, 6);
        let y = memory.f32(&x);
        let given = [("x", memory.f32(&inner)), ("weights", memory.f32(&w)), ("y", y)];
        launch(products::down(&shape, &Options::F32), &mut memory, &given);
        let want: Vec<f64> = multiply(&w, &inner).iter().zip(&x).map(|(y, &x)| y + f64::from(x)).collect();
        same("down", &memory.read_f32(y, Scalar::F32), &want);
    }
}

#[test]
fn formats_that_do_not_divide_a_row_are_refused() {
    let shape = Shape { hidden: 66, ..Shape::QWEN3_TINY };
    for options in [Options::PAIRS, Options::INT8, Options::INT4] {
        let rejection = verify(products::vocabulary(&shape, &options)).unwrap_err().to_string();
        assert!(rejection.contains("weights has 66 columns"), "{rejection}");
    }
}

#[test]
fn norms_follow_the_formula_at_every_width() {
    for hidden in [1, 66, 128, 132, 1024, 4096, 5120] {
        let shape = Shape { hidden, ..Shape::QWEN3_TINY };
        let (x, w) = (noise(hidden, 1), noise(hidden, 2));
        let mut memory = Memory::new();
        let y = memory.poison(hidden as usize * 4);
        let given = [("x", memory.f32(&x)), ("w", memory.f32(&w)), ("y", y)];
        launch(rows::norm(&shape, &Options::F32), &mut memory, &given);
        let squares: f64 = x.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        let rms = (squares / f64::from(hidden) + f64::from(shape.norm_eps)).sqrt();
        let want: Vec<f64> = x.iter().zip(&w).map(|(&x, &w)| f64::from(x) / rms * f64::from(w)).collect();
        same(&format!("width {hidden}"), &memory.read_f32(y, Scalar::F32), &want);
    }
}

#[test]
fn a_swiglu_far_from_zero_neither_overflows_nor_loses_its_sign() {
    // One weight, so that gate and up are the input itself.
    let shape = Shape { hidden: 1, intermediate: 1, ..Shape::QWEN3_TINY };
    for x in [-200.0f32, -90.0, -1e-30, 0.0, 90.0, 200.0] {
        let mut memory = Memory::new();
        let activation = memory.poison(4);
        let given =
            [("x", memory.f32(&[x])), ("weights", memory.f32(&[1.0, 1.0])), ("activation", activation)];
        let kernel = products::gate_up(&shape, &Options::of(Format::F32, Scalar::F32));
        launch(kernel, &mut memory, &given);
        let x = f64::from(x);
        same(&format!("{x}"), &memory.read_f32(activation, Scalar::F32), &[x / (1.0 + (-x).exp()) * x]);
    }
}
