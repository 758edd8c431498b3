//! Products with blocks: equal bits however they are computed, closeness to float64, and rows as the file has them.

use tilewright_model::{Code, StoredType, Tensor};

use super::super::{Inputs, Matrix, matmul};
use crate::pool::Pool;
use crate::simd::Isa;

/// A small generator, so that a case is a seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    fn float(&mut self) -> f32 {
        self.next() as f32 / (1u64 << 30) as f32 - 1.0
    }
}

/// Where blocks keep f16 numbers.
fn halves(stored: StoredType) -> &'static [usize] {
    match stored {
        StoredType::Q4_1 | StoredType::Q5_1 | StoredType::Q4K | StoredType::Q5K => &[0, 2],
        StoredType::Q2K => &[80, 82],
        StoredType::Q3K => &[108],
        StoredType::Q6K => &[208],
        _ => &[0],
    }
}

/// Random blocks with finite scales.
fn bytes(stored: StoredType, elements: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let mut bytes: Vec<u8> = (0..stored.bytes(elements)).map(|_| random.next() as u8).collect();
    for block in bytes.chunks_mut(stored.block_bytes()) {
        for at in halves(stored) {
            let scale = half::f16::from_f32(random.float() * 0.05);
            block[*at..at + 2].copy_from_slice(&scale.to_le_bytes());
        }
    }
    bytes
}

fn tensor<'a>(stored: StoredType, shape: &'a [usize], bytes: &'a [u8]) -> Tensor<'a> {
    Tensor { name: "t", shape, stored, transposed: false, interleaved: None, bytes }
}

fn activations(rows: usize, cols: usize) -> Vec<f32> {
    let mut random = Random(99);
    (0..rows * cols).map(|_| random.float().powi(3)).collect()
}

/// Results of some rows of `x`, into poisoned memory.
fn product(pool: &Pool, isa: Isa, matrix: &Matrix, x: &[f32]) -> Vec<f32> {
    let cols = matrix.cols();
    let mut inputs = Inputs::default();
    inputs.fill(pool, isa, matrix, x.len() / cols, |row, out| out.copy_from_slice(&x[row * cols..][..cols]));
    let mut out = vec![f32::NAN; x.len() / cols * matrix.rows()];
    matmul(pool, isa, matrix, &inputs, &mut out);
    out
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn types() -> impl Iterator<Item = StoredType> {
    StoredType::all().filter(|stored| stored.is_block())
}

#[test]
fn rows_are_those_of_the_file() {
    for stored in types() {
        let shape = [37, 512];
        let bytes = bytes(stored, 37 * 512, 1);
        let tensor = tensor(stored, &shape, &bytes);
        let matrix = Matrix::pack_blocks(&Pool::new(2), &[&tensor]).unwrap();
        assert_eq!(matrix.size(), stored.bytes(64 * 512), "{stored}: the bytes of the file, but for padding");
        let (mut row, mut expected) = (vec![0.0; 512], vec![0.0; 512]);
        for at in 0..37 {
            matrix.row_f32(at, &mut row);
            tensor.rows_f32(at..at + 1, &mut expected).unwrap();
            assert!(row == expected, "{stored}, row {at}");
        }
    }
}

#[test]
fn products_are_close_to_float64() {
    let pool = Pool::new(2);
    for stored in types() {
        let (rows, cols, m) = (70, 768, 5);
        let shape = [rows, cols];
        let bytes = bytes(stored, rows * cols, 2);
        let tensor = tensor(stored, &shape, &bytes);
        let weights = tensor.to_f64().unwrap();
        let matrix = Matrix::pack_blocks(&pool, &[&tensor]).unwrap();
        let x = activations(m, cols);
        let out = product(&pool, Isa::detect(), &matrix, &x);
        for (x, out) in x.chunks(cols).zip(out.chunks(rows)) {
            for (w, got) in weights.chunks(cols).zip(out) {
                let exact: f64 = w.iter().zip(x).map(|(w, x)| w * f64::from(*x)).sum();
                // An activation is off by half a step of the greatest of its 32, plus roundings of what offsets cancel.
                let bound: f64 = w
                    .chunks(32)
                    .zip(x.chunks(32))
                    .map(|(w, x)| {
                        let greatest = x.iter().fold(0.0f32, |a, b| a.max(b.abs()));
                        w.iter().map(|w| w.abs()).sum::<f64>() * f64::from(greatest) / 253.0
                    })
                    .sum();
                let error = (f64::from(*got) - exact).abs();
                assert!(error <= bound + 1e-4, "{stored}: {got} for {exact}, bound {bound}");
            }
        }
    }
}

/// The same bits on every instruction set, whatever the split and the threads.
#[test]
fn bits_do_not_depend_on_how() {
    for stored in types() {
        let (rows, cols, m) = (45, 512, 15);
        let shape = [rows, cols];
        let bytes = bytes(stored, rows * cols, 3);
        let tensor = tensor(stored, &shape, &bytes);
        let x = activations(m, cols);
        let one = Pool::new(1);
        let matrix = Matrix::pack_blocks(&one, &[&tensor]).unwrap();
        let expected = product(&one, Isa::named("portable").unwrap(), &matrix, &x);
        assert!(expected.iter().all(|v| v.is_finite()));
        let pool = Pool::new(2);
        for isa in Isa::testable() {
            for cut in [0, 1, 2, 5, 9] {
                let (first, second) = x.split_at(cut * cols);
                let out =
                    [product(&pool, isa, &matrix, first), product(&pool, isa, &matrix, second)].concat();
                assert_eq!(bits(&out), bits(&expected), "{stored}, {isa}, cut at {cut}");
            }
        }
    }
}

/// Rows of several types are one matrix with the results of each.
#[test]
fn types_lie_beside_one_another() {
    let pool = Pool::new(2);
    let kinds = [StoredType::Q4K, StoredType::Q4K, StoredType::Q6K, StoredType::Q8_0];
    let shapes = [[48, 512], [16, 512], [16, 512], [40, 512]];
    let all: Vec<Vec<u8>> =
        kinds.iter().zip(&shapes).map(|(kind, shape)| bytes(*kind, shape[0] * 512, 5)).collect();
    let tensors: Vec<_> = kinds
        .iter()
        .zip(&shapes)
        .zip(&all)
        .map(|((kind, shape), bytes)| tensor(*kind, shape, bytes))
        .collect();
    let matrix = Matrix::pack_blocks(&pool, &tensors.iter().collect::<Vec<_>>()).unwrap();
    assert_eq!((matrix.rows(), matrix.cols()), (120, 512));
    for m in [1, 3, 20] {
        let x = activations(m, 512);
        let out = product(&pool, Isa::detect(), &matrix, &x);
        let mut first = 0;
        for tensor in &tensors {
            let alone = Matrix::pack_blocks(&pool, &[tensor]).unwrap();
            let expected = product(&pool, Isa::detect(), &alone, &x);
            for (out, expected) in out.chunks(120).zip(expected.chunks(tensor.rows())) {
                assert_eq!(bits(&out[first..first + tensor.rows()]), bits(expected));
            }
            first += tensor.rows();
        }
    }
}

#[test]
fn a_scale_that_is_not_finite_is_refused_by_place() {
    let mut bytes = bytes(StoredType::Q4_0, 64 * 64, 1);
    bytes[50 * 36..50 * 36 + 2].copy_from_slice(&0x7e00_u16.to_le_bytes());
    let tensor = tensor(StoredType::Q4_0, &[64, 64], &bytes);
    let refusal = Matrix::pack_blocks(&Pool::new(2), &[&tensor]).err().unwrap();
    assert_eq!(refusal.code(), Code::NonFiniteWeight);
    assert!(refusal.findings()[0].what.contains("t[50, 0]"), "{refusal}");
}
