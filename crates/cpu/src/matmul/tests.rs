//! Products and packing: equal bits however they are computed, and closeness to float64.

use std::ops::Range;

use proptest::prelude::*;
use tilewright_model::{Code, Refusal, WeightFormat};

use super::{Inputs, Matrix, matmul, matmul_add, matrix_bytes};
use crate::memory::Pages;
use crate::pool::Pool;
use crate::simd::Isa;

/// A small generator, so that a case is a seed.
struct Random(u64);

impl Random {
    /// Between -1 and 1, mostly small.
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let unit = (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
        unit * unit * unit
    }

    fn vec(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| self.next()).collect()
    }
}

/// A product to be computed: `[rows, cols]` weights and `m` rows of activations.
#[derive(Clone, Copy, Debug)]
struct Case {
    format: WeightFormat,
    rows: usize,
    cols: usize,
    m: usize,
    seed: u64,
}

impl Case {
    fn weights(self) -> Vec<f32> {
        Random(self.seed).vec(self.rows * self.cols)
    }

    fn activations(self) -> Vec<f32> {
        Random(self.seed ^ 0xabcd).vec(self.m * self.cols)
    }

    fn matrix(self, pool: &Pool, isa: Isa) -> Matrix {
        let weights = self.weights();
        let read = |rows: Range<usize>, out: &mut [f32]| {
            out.copy_from_slice(&weights[rows.start * self.cols..rows.end * self.cols]);
            Ok(())
        };
        Matrix::pack(pool, isa, self.format, (self.rows, self.cols), &read).unwrap()
    }

    /// Results of `rows` of the activations, computed in one call into poisoned memory.
    fn product(self, pool: &Pool, isa: Isa, matrix: &Matrix, rows: Range<usize>) -> Vec<f32> {
        let x = self.activations();
        let mut inputs = Inputs::default();
        inputs.fill(pool, isa, matrix, rows.len(), |row, out| {
            out.copy_from_slice(&x[(rows.start + row) * self.cols..][..self.cols]);
        });
        let mut out = vec![f32::NAN; rows.len() * self.rows];
        matmul(pool, isa, matrix, &inputs, &mut out);
        out
    }
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn cases() -> impl Strategy<Value = Case> {
    let rows = prop_oneof![1usize..100, Just(32), Just(96)];
    let cols = prop_oneof![1usize..300, Just(128), Just(576), Just(64)];
    let format = prop::sample::select(crate::FORMATS.to_vec());
    (format, rows, cols, 1usize..30, any::<u64>()).prop_map(|(format, rows, cols, m, seed)| Case {
        format,
        rows,
        cols,
        m,
        seed,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The same bits on every instruction set (packed there, too), whatever the split and the threads.
    #[test]
    fn bits_do_not_depend_on_how(case in cases(), cut in 0usize..30, threads in 1usize..4) {
        let portable = Isa::named("portable").unwrap();
        let one = Pool::new(1);
        let matrix = case.matrix(&one, portable);
        let expected = case.product(&one, portable, &matrix, 0..case.m);
        let pool = Pool::new(threads);
        for isa in Isa::testable() {
            let packed = case.matrix(&pool, isa);
            prop_assert!(packed.bytes() == matrix.bytes(), "packed by {}", isa);
            let cut = cut % case.m;
            let mut out = case.product(&pool, isa, &packed, 0..cut);
            out.extend(case.product(&pool, isa, &packed, cut..case.m));
            prop_assert_eq!(bits(&out), bits(&expected), "{}, {} threads, cut at {}", isa, threads, cut);
        }
    }

    /// Against a product in f64 of the weights as they are after packing.
    #[test]
    fn products_are_close(case in cases()) {
        let (pool, isa) = (Pool::new(2), Isa::detect());
        let matrix = case.matrix(&pool, isa);
        let out = case.product(&pool, isa, &matrix, 0..case.m);
        let x = case.activations();
        let mut w = vec![0.0; case.cols];
        for row in 0..case.rows {
            matrix.row_f32(row, &mut w);
            for m in 0..case.m {
                let x = &x[m * case.cols..][..case.cols];
                let greatest = x.iter().fold(0.0f32, |a, b| a.max(b.abs()));
                // An activation is off by half a step of at most greatest / 127; floats by a few roundings.
                let step = match case.format {
                    WeightFormat::F32 | WeightFormat::F16 | WeightFormat::Bf16 => 1e-6 * greatest,
                    _ => greatest / 253.0,
                };
                let exact: f64 = w.iter().zip(x).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
                let bound: f64 = w.iter().map(|w| f64::from(w.abs() * step)).sum();
                let got = f64::from(out[m * case.rows + row]);
                prop_assert!((got - exact).abs() <= bound + 1e-30, "{got} for {exact}, bound {bound}");
            }
        }
    }

    /// Weights after packing against weights before.
    #[test]
    fn packing_loses_what_the_format_loses(case in cases()) {
        let matrix = case.matrix(&Pool::new(1), Isa::detect());
        prop_assert_eq!(matrix.bytes().len(), matrix_bytes(case.format, case.rows, case.cols));
        let mut pages = Pages::zeroed(matrix.bytes().len()).unwrap();
        pages.copy_from_slice(matrix.bytes());
        let matrix = Matrix::from_pages(case.format, (case.rows, case.cols), pages).unwrap();
        let mut packed = vec![0.0; case.cols];
        for (row, weights) in case.weights().chunks(case.cols).enumerate() {
            matrix.row_f32(row, &mut packed);
            let greatest = weights.iter().fold(0.0f32, |a, b| a.max(b.abs()));
            for (got, want) in packed.iter().zip(weights) {
                let bound = match case.format {
                    WeightFormat::F32 | WeightFormat::F16 => 0.0,
                    WeightFormat::Bf16 => want.abs() / 256.0,
                    WeightFormat::Int8 => greatest / 252.0,
                    // The least square error may cut the extreme: at most from 9.5 steps to 7.
                    _ => greatest * 0.27,
                };
                prop_assert!((got - want).abs() <= bound, "{got} for {want}");
            }
        }
    }
}

/// Row counts around every size of tile and block, for every format on the machine's own instruction sets.
#[test]
fn every_number_of_rows() {
    let pool = Pool::new(2);
    for format in crate::FORMATS {
        let case = Case { format, rows: 70, cols: 200, m: 70, seed: 7 };
        for isa in Isa::available() {
            let matrix = case.matrix(&pool, isa);
            let all = case.product(&pool, isa, &matrix, 0..case.m);
            for m in 1..=case.m {
                let out = case.product(&pool, isa, &matrix, 0..m);
                assert_eq!(bits(&out), bits(&all[..m * case.rows]), "{format}, {isa}, {m} rows");
            }
        }
    }
}

#[test]
fn sums_are_added_to_what_is_there() {
    let (pool, isa) = (Pool::new(2), Isa::detect());
    for format in crate::FORMATS {
        let case = Case { format, rows: 45, cols: 64, m: 3, seed: 1 };
        let matrix = case.matrix(&pool, isa);
        let product = case.product(&pool, isa, &matrix, 0..case.m);
        let mut inputs = Inputs::default();
        let x = case.activations();
        inputs.fill(&pool, isa, &matrix, case.m, |row, out| out.copy_from_slice(&x[row * 64..][..64]));
        let mut out = vec![0.5; product.len()];
        matmul_add(&pool, isa, &matrix, &inputs, &mut out);
        let expected: Vec<_> = product.iter().map(|p| 0.5 + p).collect();
        assert_eq!(bits(&out), bits(&expected));
    }
}

#[test]
fn bf16_weights_survive() {
    let case = Case { format: WeightFormat::Bf16, rows: 33, cols: 10, m: 1, seed: 3 };
    let lossless: Vec<_> = case.weights().iter().map(|w| half::bf16::from_f32(*w).to_f32()).collect();
    let read = |rows: Range<usize>, out: &mut [f32]| {
        out.copy_from_slice(&lossless[rows.start * 10..rows.end * 10]);
        Ok(())
    };
    let matrix = Matrix::pack(&Pool::new(1), Isa::detect(), case.format, (33, 10), &read).unwrap();
    let mut row = [0.0; 10];
    for (index, weights) in lossless.chunks(10).enumerate() {
        matrix.row_f32(index, &mut row);
        assert_eq!(bits(&row), bits(weights));
    }
}

/// Wherever an activation is not finite, no result of its row is, and other rows are as before.
#[test]
fn what_is_not_finite_stays_so() {
    let (pool, isa) = (Pool::new(1), Isa::detect());
    for format in crate::FORMATS {
        let case = Case { format, rows: 40, cols: 300, m: 4, seed: 5 };
        let matrix = case.matrix(&pool, isa);
        let clean = case.product(&pool, isa, &matrix, 0..case.m);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for at in [0, 17, 299] {
                let mut x = case.activations();
                x[2 * 300 + at] = bad;
                let mut inputs = Inputs::default();
                inputs.fill(&pool, isa, &matrix, 4, |row, out| out.copy_from_slice(&x[row * 300..][..300]));
                let mut out = vec![0.0; clean.len()];
                matmul(&pool, isa, &matrix, &inputs, &mut out);
                for (row, (out, clean)) in out.chunks(40).zip(clean.chunks(40)).enumerate() {
                    if row == 2 {
                        assert!(out.iter().all(|v| !v.is_finite()), "{format}, {bad} at {at}");
                    } else {
                        assert_eq!(bits(out), bits(clean));
                    }
                }
            }
        }
    }
}

#[test]
fn extreme_weights_and_activations_stay_finite() {
    let (pool, isa) = (Pool::new(1), Isa::detect());
    for format in crate::FORMATS {
        for (weight, activation) in [(1e-38, 1e-38), (1e-42, 1.0), (0.0, 0.0), (1.0, 1e-42), (1e18, 1e18)] {
            let read = |_: Range<usize>, out: &mut [f32]| {
                out.fill(weight);
                Ok(())
            };
            let matrix = Matrix::pack(&pool, isa, format, (32, 64), &read).unwrap();
            let mut inputs = Inputs::default();
            inputs.fill(&pool, isa, &matrix, 1, |_, out| out.fill(activation));
            let mut out = vec![f32::NAN; 32];
            matmul(&pool, isa, &matrix, &inputs, &mut out);
            let exact = 64.0 * f64::from(weight) * f64::from(activation);
            for got in out {
                let error = (f64::from(got) - exact).abs();
                assert!(error <= exact / 30.0 + 1e-38, "{format}: {got} for {exact}");
            }
        }
    }
}

#[test]
fn empty_shapes_are_harmless() {
    let (pool, isa) = (Pool::new(2), Isa::detect());
    for format in crate::FORMATS {
        for (rows, cols, m) in [(0, 4, 2), (4, 4, 0)] {
            let case = Case { format, rows, cols, m, seed: 0 };
            let matrix = case.matrix(&pool, isa);
            let out = case.product(&pool, isa, &matrix, 0..m);
            assert!(out.is_empty());
        }
    }
}

#[test]
fn refusals_name_the_first_weight() {
    let pool = Pool::new(3);
    let read = |rows: Range<usize>, out: &mut [f32]| {
        for (row, out) in rows.zip(out.chunks_mut(8)) {
            out.fill(if row == 50 || row == 90 { f32::NAN } else { 1.0 });
        }
        Ok(())
    };
    let refusal = Matrix::pack(&pool, Isa::detect(), WeightFormat::Int8, (100, 8), &read).err().unwrap();
    assert_eq!(refusal.code(), Code::NonFiniteWeight);
    assert!(refusal.findings()[0].what.contains("output 50"), "{refusal}");

    let unreadable =
        |_: Range<usize>, _: &mut [f32]| Err(Refusal::new(Code::FileUnreadable, "file", "bytes", "none"));
    let refusal = Matrix::pack(&pool, Isa::detect(), WeightFormat::F32, (100, 8), &unreadable).err().unwrap();
    assert_eq!(refusal.code(), Code::FileUnreadable);
}
