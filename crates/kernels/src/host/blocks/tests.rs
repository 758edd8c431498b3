//! What kernels make of blocks is what the blocks stand for.

use tilewright_model::StoredType;
use tilewright_tile::Kernel;

use super::*;
use crate::decode::{Options, overlap, products, rows};
use crate::host::put;
use crate::prefill::testing::{Data, assert_close, noise, outputs};
use crate::prefill::tiers::{self, Product, Role};
use crate::shape::Shape;

/// Blocks of these types, as they are.
const TYPES: [StoredType; 4] = [StoredType::Q8_0, StoredType::Q4_0, StoredType::Q4K, StoredType::Q6K];

/// A head of rows that no tile divides, in two blocks of the longest type.
const SHAPE: Shape = Shape { hidden: 512, vocab: 36, ..Shape::QWEN3_TINY };

/// Blocks of any bits, but for the halves, which are small numbers of either sign.
fn random_blocks(stored: StoredType) -> Vec<u8> {
    let count = stored.bytes((SHAPE.vocab * SHAPE.hidden) as usize);
    let mut state = 11u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as u8
    };
    let mut bytes: Vec<u8> = (0..count).map(|_| next()).collect();
    for block in bytes.chunks_mut(stored.block_bytes()) {
        let halves: &[usize] = match stored {
            StoredType::Q4K => &[1, 3],
            StoredType::Q6K => &[209],
            _ => &[1],
        };
        // The upper byte of a half between 2^-11 and 2^-8.
        halves.iter().for_each(|&at| block[at] = block[at] & 0x8b | 0x10);
    }
    bytes
}

/// The planes of a tensor by the names of parameters.
fn planes<'n>(tensor: &Tensor<'_>, format: Format, names: &[&'n str; 4]) -> Vec<(&'n str, Data)> {
    let [rows, columns] = [tensor.rows(), tensor.row_len()].map(|n| n as u32);
    let slot = Slot::of_matrix([rows, columns], format);
    let mut bytes = vec![0; slot.end() as usize];
    put(&mut bytes, slot, format, &[tensor], &mut |_| panic!("blocks are taken as they are"), &mut 0)
        .unwrap();
    let found = format.planes(columns).into_iter().zip(slot.places());
    found
        .map(|(plane, (start, _))| {
            let length = (rows * plane.columns * plane.scalar.bytes()) as usize;
            let codes = bytes[start as usize..][..length].iter().map(|byte| byte.cast_signed()).collect();
            let ends =
                |name: &&&str| name.ends_with(plane.suffix) && plane.suffix.is_empty() != name.contains('_');
            (*names.iter().find(ends).unwrap(), Data::Codes(codes))
        })
        .collect()
}

const EMBEDDING: [&str; 4] = ["embedding", "embedding_tops", "embedding_scales", "embedding_steps"];
const WEIGHTS: [&str; 4] = ["weights", "weights_tops", "weights_scales", "weights_steps"];

/// For each type: its name, its format, the tensor.
fn each(check: impl Fn(&str, Format, &Tensor<'_>)) {
    for stored in TYPES {
        let (bytes, shape) = (random_blocks(stored), [SHAPE.vocab as usize, SHAPE.hidden as usize]);
        let tensor = Tensor {
            name: "blocks",
            shape: &shape,
            stored,
            transposed: false,
            interleaved: None,
            bytes: &bytes,
        };
        check(stored.name(), Format::of_stored(stored), &tensor);
    }
}

/// `W·x` in f64.
fn multiply(tensor: &Tensor<'_>, x: &[f32]) -> Vec<f64> {
    let weights = tensor.to_f64().unwrap();
    weights.chunks(x.len()).map(|row| row.iter().zip(x).map(|(w, &x)| w * f64::from(x)).sum()).collect()
}

#[test]
fn an_embedding_row_has_the_bits_of_its_blocks() {
    each(|what, format, tensor| {
        let expected = tensor.to_f32().unwrap();
        for token in [0, 1, 35] {
            let mut inputs = planes(tensor, format, &EMBEDDING);
            inputs.push(("control", Data::Words(vec![token, 0])));
            let kernel = rows::embed(&SHAPE, &Options::F32.weights(format));
            let row = &expected[token as usize * 512..][..512];
            assert!(outputs(kernel, &inputs)["x"] == row, "{what}, row {token}");
        }
    });
}

#[test]
fn products_of_a_vector_are_those_of_float64() {
    let (x, ones) = (noise(512, 5), vec![1.0f32; 512]);
    each(|what, format, tensor| {
        let expected = multiply(tensor, &x);
        let inputs = || {
            let mut inputs = planes(tensor, format, &WEIGHTS);
            inputs.push(("x", Data::Floats(x.clone())));
            inputs
        };
        let options = Options::F32.weights(format);
        assert_close(what, &outputs(products::vocabulary(&SHAPE, &options), &inputs())["y"], &expected, 1e-5);
        // The other reads weights ahead and norms what it multiplies them with.
        let mut inputs = inputs();
        inputs.push(("w", Data::Floats(ones.clone())));
        let mean = x.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>() / 512.0;
        let scale = 1.0 / (mean + f64::from(SHAPE.norm_eps)).sqrt();
        let normed: Vec<f64> = expected.iter().map(|y| y * scale).collect();
        let kernel = overlap::vocabulary(&SHAPE, &options.vectors(tilewright_tile::Scalar::F32));
        assert_close(what, &outputs(kernel, &inputs)["y"], &normed, 1e-5);
    });
}

#[test]
fn products_of_a_chunk_are_those_of_float64() {
    type Build = fn(&Product) -> Kernel;
    let builds: [Build; 6] =
        [tiers::original, tiers::bm64, tiers::vecload4, tiers::msl, tiers::splitk, tiers::tensor];
    let (rows, a) = (5, noise(5 * 512, 6));
    each(|what, format, tensor| {
        let expected: Vec<f64> = a.chunks(512).flat_map(|row| multiply(tensor, row)).collect();
        let product = Product {
            role: Role::Qkv,
            rows,
            columns: SHAPE.vocab,
            beside: [0; 2],
            part: "",
            inner: 512,
            format,
        };
        for build in builds {
            let mut inputs = planes(tensor, format, &WEIGHTS);
            inputs.push(("a", Data::Floats(a.clone())));
            let kernel = build(&product);
            let what = format!("{what}, {}", kernel.name());
            assert_close(&what, &outputs(kernel, &inputs)["out"], &expected, 2e-5);
        }
    });
}

#[test]
fn parts_of_queries_keys_and_values_leave_the_others_alone() {
    // Twelve values behind twenty-four queries and keys: no edge is a multiple of anything.
    let shape = Shape { hidden: 512, heads: 1, kv_heads: 1, head_dim: 12, qkv_bias: true, ..SHAPE };
    let (x, bias) = (noise(512, 7), noise(36, 8));
    each(|what, format, tensor| {
        let expected = multiply(tensor, &x);
        let mut seen = vec![f32::NAN; 36];
        for rows in [0..24, 24..36] {
            let stored = tensor.stored.bytes(512);
            let part = Tensor {
                shape: &[rows.len(), 512],
                bytes: &tensor.bytes[rows.start * stored..rows.end * stored],
                ..tensor.clone()
            };
            let mut inputs = planes(&part, format, &WEIGHTS);
            inputs.push(("x", Data::Floats(x.clone())));
            inputs.push(("bias", Data::Floats(bias.clone())));
            let wanted = rows.start as u32..rows.end as u32;
            let kernel = products::qkv_rows(&shape, &Options::F32.weights(format), wanted.clone());
            let y = outputs(kernel, &inputs).remove("y").unwrap();
            assert!((0..36).all(|n| y[n].is_nan() != rows.contains(&n)), "{what}: {y:?}");
            seen[rows.clone()].copy_from_slice(&y[rows.clone()]);

            inputs.retain(|(name, _)| !matches!(*name, "x" | "bias"));
            inputs.push(("a", Data::Floats(x.clone())));
            let kernel = tiers::msl(&Product::of_qkv(&shape, wanted, 1, format));
            let out = outputs(kernel, &inputs).remove("out").unwrap();
            assert!((0..36).all(|n| out[n].is_nan() != rows.contains(&n)), "{what}: {out:?}");
            assert_close(what, &out[rows.clone()], &expected[rows], 2e-5);
        }
        let expected: Vec<f64> = expected.iter().zip(&bias).map(|(y, &b)| y + f64::from(b)).collect();
        assert_close(what, &seen, &expected, 1e-5);
    });
}
