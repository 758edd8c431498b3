//! Products of a chunk with transposed and with 8-bit matrices.

use tilewright_tile::{Kernel, Scalar};

use crate::format::Format;
use crate::parts::Exponential;
use crate::prefill::testing::{Data, assert_close, kept, noise, outputs};
use crate::prefill::tiers::{self, Role};
use crate::prefill::{Depth, Product, matmul, tensor_matmul};

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
    type Build = fn(&Product) -> Kernel;
    let builds: [Build; 3] = [
        |product| matmul("test", product, Depth::D32),
        |product| matmul("test", product, Depth::D64),
        |product| tensor_matmul("test", product),
    ];
    for build in builds {
        for (rows, columns, inner) in [(64, 128, 64), (70, 68, 100), (1, 8, 4), (65, 60, 36)] {
            for (storage, tolerance) in [(Scalar::F32, 2e-6), (Scalar::F16, 2e-3), (Scalar::Bf16, 1e-2)] {
                let product = Product { rows, columns, inner, storage };
                let inputs = float_inputs(&product);
                let (Data::Floats(a), Data::Floats(b)) = (&inputs[0].1, &inputs[1].1) else { panic!() };
                let (a, b) = (kept(a, storage), kept(b, storage));
                let expected = dot(&a, |i, c| b[i * columns as usize + c], columns, inner);
                let c = outputs(build(&product), &inputs);
                assert_close(&format!("{product:?}"), &c["c"], &expected, tolerance);
            }
        }
    }
}

/// Both add fused products in order of the inner index, so the interpreter gives both the same bits; a GPU need not.
#[test]
fn tiles_and_fragments_are_the_same_sums() {
    for storage in [Scalar::F32, Scalar::F16, Scalar::Bf16] {
        let product = Product { rows: 70, columns: 68, inner: 100, storage };
        let inputs = float_inputs(&product);
        let bits = |kernel| -> Vec<u64> {
            outputs(kernel, &inputs)["c"].iter().map(|number| f64::from(*number).to_bits()).collect()
        };
        let fragments = bits(matmul("test", &product, Depth::D64));
        assert_eq!(bits(tensor_matmul("test", &product)), fragments, "{storage}");
    }
}

/// A matrix of `[rows, inner]` as its format stores it, and the numbers that stands for.
struct Stored {
    weights: Data,
    scales: Option<Data>,
    numbers: Vec<f64>,
}

fn stored(rows: u32, inner: u32, format: Format) -> Stored {
    let noise_of = |seed| noise(rows * inner, seed);
    match format {
        Format::Float(storage) => {
            let numbers = noise_of(2);
            Stored { numbers: kept(&numbers, storage), weights: Data::Floats(numbers), scales: None }
        }
        Format::Pairs => {
            let upper: Vec<u32> = noise_of(2).iter().map(|v| v.to_bits() >> 16).collect();
            let words = upper.chunks(2).map(|pair| (pair[0] | pair[1] << 16) as i32).collect();
            let numbers = upper.iter().map(|&bits| f64::from(f32::from_bits(bits << 16))).collect();
            Stored { weights: Data::Words(words), scales: None, numbers }
        }
        Format::Q4K | Format::Q6K => panic!("{format:?} is compared with what its blocks stand for"),
        Format::Int8 { group, scale } => {
            let codes: Vec<i8> = noise_of(2).iter().map(|v| (v * 127.0) as i8).collect();
            let (scales, numbers) = scaled(&codes, (inner, group), scale);
            Stored { weights: Data::Codes(codes), scales: Some(scales), numbers }
        }
        Format::Int4 { group, scale } => {
            let codes: Vec<i8> = noise_of(2).iter().map(|v| (v * 7.0) as i8).collect();
            let word = |eight: &[i8]| {
                eight.iter().enumerate().fold(0u32, |word, (n, &code)| word | ((code + 8) as u32) << (4 * n))
            };
            let words = codes.chunks(8).map(|eight| word(eight) as i32).collect();
            let (scales, numbers) = scaled(&codes, (inner, group), scale);
            Stored { weights: Data::Words(words), scales: Some(scales), numbers }
        }
    }
}

/// Scales for rows of `inner` codes, and the numbers both stand for.
fn scaled(codes: &[i8], (inner, group): (u32, u32), scale: Scalar) -> (Data, Vec<f64>) {
    let (rows, per_row) = (codes.len() as u32 / inner, inner.div_ceil(group));
    let scales: Vec<f32> = noise(rows * per_row, 3).iter().map(|s| (s.abs() + 0.1) / 127.0).collect();
    let kept_scales = kept(&scales, scale);
    let (inner, group, per_row) = (inner as usize, group as usize, per_row as usize);
    let number = |n: usize| f64::from(codes[n]) * kept_scales[n / inner * per_row + n % inner / group];
    (Data::Floats(scales), (0..codes.len()).map(number).collect())
}

fn case(product: &tiers::Product) -> (Vec<(&'static str, Data)>, Vec<f64>) {
    let tiers::Product { role, rows, columns, inner, format, .. } = *product;
    let parts = if role == Role::GateUp { 2 } else { 1 };
    let Stored { weights, scales, numbers } = stored(parts * columns, inner, format);
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
    let mut inputs = vec![("a", Data::Floats(a)), ("weights", weights)];
    inputs.extend(scales.map(|scales| ("weights_scales", scales)));
    if matches!(role, Role::Output | Role::Down) {
        inputs.push(("out", Data::Floats(before)));
    }
    (inputs, expected)
}

/// A product without columns beside it.
fn whole(role: Role, [rows, columns, inner]: [u32; 3], format: Format) -> tiers::Product {
    tiers::Product { role, rows, columns, beside: [0; 2], part: "", inner, format }
}

type Build = fn(&tiers::Product) -> Kernel;

const TIERS: [Build; 6] =
    [tiers::original, tiers::bm64, tiers::vecload4, tiers::msl, tiers::splitk, tiers::tensor];

#[test]
fn every_tier_multiplies_in_every_role() {
    for (rows, columns, inner, group) in
        [(64, 64, 128, 32), (35, 36, 100, 32), (1, 4, 4, 128), (66, 100, 68, 128)]
    {
        for role in Role::ALL {
            let format = Format::Int8 { group, scale: Scalar::Bf16 };
            let product = whole(role, [rows, columns, inner], format);
            let (inputs, expected) = case(&product);
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
    let product = whole(Role::GateUp, [4; 3], Format::INT8);
    let kernel = tilewright_tile::verify(tiers::original(&product)).unwrap();
    assert!(tilewright_tile::Report::new(&kernel).fast.is_empty());
    assert_eq!(Exponential::default(), Exponential::Precise);
}
