//! Products of a chunk with transposed and with 8-bit matrices.

use tilewright_tile::{Kernel, Scalar};

use crate::format::Format;
use crate::parts::Exponential;
use crate::prefill::int8::{self, Role};
use crate::prefill::testing::{Data, assert_close, kept, noise, outputs};
use crate::prefill::{Depth, Product, matmul};

/// `a[rows, inner] · b[inner, columns]`.
fn dot(a: &[f64], b: impl Fn(usize, usize) -> f64, columns: u32, inner: u32) -> Vec<f64> {
    let (inner, columns) = (inner as usize, columns as usize);
    let row = |a: &[f64], c: usize| (0..inner).map(|i| a[i] * b(i, c)).sum::<f64>();
    a.chunks(inner).flat_map(|a| (0..columns).map(move |c| (a, c))).map(|(a, c)| row(a, c)).collect()
}

fn float_inputs(product: &Product) -> [(&'static str, Data); 2] {
    let Product { rows, columns, inner, .. } = *product;
    [("a", Data::Floats(noise(rows * inner, 1))), ("b", Data::Floats(noise(inner * columns, 2)))]
}

#[test]
fn matmul_multiplies_whole_and_partial_tiles() {
    for depth in [Depth::D32, Depth::D64] {
        for (rows, columns, inner) in [(64, 128, 64), (70, 68, 100), (1, 8, 4), (65, 60, 36)] {
            for (storage, tolerance) in [(Scalar::F32, 2e-6), (Scalar::F16, 2e-3), (Scalar::Bf16, 1e-2)] {
                let product = Product { rows, columns, inner, storage };
                let inputs = float_inputs(&product);
                let (Data::Floats(a), Data::Floats(b)) = (&inputs[0].1, &inputs[1].1) else { panic!() };
                let (a, b) = (kept(a, storage), kept(b, storage));
                let expected = dot(&a, |i, c| b[i * columns as usize + c], columns, inner);
                let c = outputs(matmul("test", &product, depth), &inputs);
                assert_close(&format!("{product:?}"), &c["c"], &expected, tolerance);
            }
        }
    }
}

/// Codes and scales of `[parts * columns, inner]`, and the numbers they stand for.
fn matrix(rows: u32, product: &int8::Product) -> (Vec<i8>, Vec<f32>, Vec<f64>) {
    let (inner, group) = (product.inner as usize, product.group as usize);
    let codes: Vec<i8> = noise(rows * product.inner, 2).iter().map(|v| (v * 127.0) as i8).collect();
    let scales = noise(rows * product.inner.div_ceil(product.group), 3);
    let scales: Vec<f32> = scales.iter().map(|s| (s.abs() + 0.1) / 127.0).collect();
    let kept_scales = kept(&scales, Format::SCALE);
    let per_row = inner.div_ceil(group);
    let number = |n: usize| f64::from(codes[n]) * kept_scales[n / inner * per_row + n % inner / group];
    let numbers = (0..codes.len()).map(number).collect();
    (codes, scales, numbers)
}

fn int8_case(product: &int8::Product) -> (Vec<(&'static str, Data)>, Vec<f64>) {
    let int8::Product { role, rows, columns, inner, .. } = *product;
    let parts = if role == Role::GateUp { 2 } else { 1 };
    let (codes, scales, numbers) = matrix(parts * columns, product);
    let a = noise(rows * inner, 1);
    let before = noise(rows * columns, 4);
    let inner_size = inner as usize;
    let c = dot(&kept(&a, Scalar::F32), |i, c| numbers[c * inner_size + i], parts * columns, inner);
    let width = columns as usize;
    let expected: Vec<f64> = match role {
        Role::Qkv => c,
        Role::Output | Role::Down => c.iter().zip(&before).map(|(c, &x)| c + f64::from(x)).collect(),
        Role::GateUp => {
            let silu = |g: f64| g / (1.0 + (-g).exp());
            c.chunks(2 * width).flat_map(|r| (0..width).map(|n| silu(r[n]) * r[n + width])).collect()
        }
    };
    let mut inputs = vec![
        ("a", Data::Floats(a)),
        ("weights", Data::Codes(codes)),
        ("weights_scales", Data::Floats(scales)),
    ];
    if matches!(role, Role::Output | Role::Down) {
        inputs.push(("out", Data::Floats(before)));
    }
    (inputs, expected)
}

type Build = fn(&int8::Product) -> Kernel;

const TIERS: [Build; 5] = [int8::original, int8::bm64, int8::vecload4, int8::msl, int8::splitk];

#[test]
fn every_tier_multiplies_in_every_role() {
    for (rows, columns, inner, group) in
        [(64, 64, 128, 32), (35, 36, 100, 32), (1, 4, 4, 128), (66, 100, 68, 128)]
    {
        for role in Role::ALL {
            let product = int8::Product { role, rows, columns, inner, group };
            let (inputs, expected) = int8_case(&product);
            for tier in TIERS {
                let kernel = tier(&product);
                let what = format!("{} of {product:?}", kernel.name());
                assert_close(&what, &outputs(kernel, &inputs)["out"], &expected, 2e-5);
            }
        }
    }
}

#[test]
fn exponentials_of_swiglu_are_precise_in_the_products() {
    let product = int8::Product { role: Role::GateUp, rows: 4, columns: 4, inner: 4, group: 4 };
    let kernel = tilewright_tile::verify(int8::original(&product)).unwrap();
    assert!(tilewright_tile::Report::new(&kernel).fast.is_empty());
    assert_eq!(Exponential::default(), Exponential::Precise);
}
