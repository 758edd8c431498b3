//! Routines against the results of llama.cpp's, which `bench/peers/llama_bits.py` writes, on every instruction set.

use half::f16;
use serde_json::Value;
use tilewright_backend::Numerics;
use tilewright_model::{StoredType, Tensor, WeightFormat};

use super::attention::softmax;
use super::exp::exp;
use super::lanes::{Terms, dot_f16, fold};
use super::norm::inverse_rms;
use super::quantise::{GROUP, Quantise, WORDS};
use super::rope::{Rotate, angles, step};
use super::swiglu::SwiGlu;
use crate::matmul::{Inputs, Matrix, matmul};
use crate::pool::Pool;
use crate::simd::{Isa, Kernel, LANES, Simd};

fn routines() -> Value {
    serde_json::from_str(include_str!("../../tests/llama/routines.json")).unwrap()
}

/// The cases of a routine: what they are called, and the words that came out.
fn cases(routine: &str) -> Vec<(String, Vec<u32>)> {
    let all = routines();
    let cases = all[routine].as_object().unwrap().iter().map(|(name, value)| (name.clone(), words(value)));
    let cases: Vec<_> = cases.collect();
    assert!(cases.len() >= 3, "{routine}");
    cases
}

fn words(value: &Value) -> Vec<u32> {
    let word = |value: &Value| u32::from_str_radix(value.as_str().unwrap(), 16).unwrap();
    value.as_array().map_or_else(|| vec![word(value)], |all| all.iter().map(word).collect())
}

/// Numbers that the script makes as well.
fn values(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| (((i * 37 + seed * 211) % 1009) as f32 - 504.0) / 97.0).collect()
}

/// Blocks that the script makes as well.
fn blocks(stored: StoredType, count: usize, seed: usize) -> Vec<u8> {
    let size = stored.block_bytes();
    let mut bytes: Vec<u8> = (0..count * size).map(|i| ((i * i * 7 + i * 13 + seed) % 251) as u8).collect();
    let offsets = matches!(stored, StoredType::Q4_1 | StoredType::Q5_1);
    for (at, block) in bytes.chunks_mut(size).enumerate() {
        let numbers = [0.01 * (1 + at % 5) as f32, -0.05 * (1 + at % 3) as f32];
        for (number, to) in
            numbers.into_iter().zip(block.as_chunks_mut::<2>().0).take(1 + usize::from(offsets))
        {
            *to = f16::from_f32(number).to_le_bytes();
        }
    }
    bytes
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// One row with a matrix, in llama.cpp's order.
fn product(isa: Isa, matrix: &Matrix, x: &[f32]) -> Vec<u32> {
    let pool = Pool::new(1);
    let mut inputs = Inputs::new(Numerics::LlamaCpp);
    inputs.fill(&pool, isa, matrix, 1, |_, out| out.copy_from_slice(x));
    let mut out = vec![f32::NAN; matrix.rows()];
    matmul(&pool, isa, matrix, &inputs, &mut out);
    bits(&out)
}

#[test]
fn products_of_floats_have_llama_cpps_bits() {
    for (count, expected) in cases("dot_f32") {
        let count: usize = count.parse().unwrap();
        let (weights, x) = (values(count, 1), values(count, 2));
        let read = |_: std::ops::Range<usize>, out: &mut [f32]| {
            out.copy_from_slice(&weights);
            Ok(())
        };
        for isa in Isa::testable() {
            let matrix = Matrix::pack(&Pool::new(1), isa, WeightFormat::F32, (1, count), &read).unwrap();
            assert_eq!(product(isa, &matrix, &x), expected, "{count} products, {isa}");
        }
    }
}

/// Products of numbers of f16, the same for every lane.
struct Halves(Vec<[f32; 2]>);

impl<S: Simd> Terms<S> for Halves {
    fn at(&self, simd: S, index: usize) -> [S::F32; 2] {
        self.0[index].map(|value| simd.splat(value))
    }
}

impl Kernel for Halves {
    type Output = u32;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> u32 {
        let mut whole = [0.0; LANES];
        simd.store(dot_f16(simd, self.0.len(), &self), &mut whole);
        whole[0].to_bits()
    }
}

#[test]
fn products_of_halves_have_llama_cpps_bits() {
    for (count, expected) in cases("dot_f16") {
        let count: usize = count.parse().unwrap();
        let half = |value: f32| f16::from_f32(value).to_f32();
        let pairs = values(count, 1).into_iter().zip(values(count, 2)).map(|(a, b)| [half(a), half(b)]);
        let pairs: Vec<[f32; 2]> = pairs.collect();
        for isa in Isa::testable() {
            assert_eq!(vec![isa.run(Halves(pairs.clone()))], expected, "{count} products, {isa}");
        }
    }
}

#[test]
fn products_of_blocks_have_llama_cpps_bits() {
    for (name, expected) in cases("dot_blocks") {
        let stored = StoredType::all().find(|stored| stored.name().eq_ignore_ascii_case(&name)).unwrap();
        let bytes: Vec<u8> = (0..expected.len()).flat_map(|row| blocks(stored, 18, row)).collect();
        let shape = [expected.len(), 576];
        let tensor =
            Tensor { name: "t", shape: &shape, stored, transposed: false, interleaved: None, bytes: &bytes };
        let matrix = Matrix::pack_blocks(&Pool::new(1), &[&tensor]).unwrap();
        for isa in Isa::testable() {
            assert_eq!(product(isa, &matrix, &values(576, 6)), expected, "{name}, {isa}");
        }
    }
}

/// The bytes of q8_1: for each group scale and sum as f16, then integers.
#[test]
fn activations_are_quantised_to_llama_cpps_bits() {
    let all = routines();
    for (case, bytes) in all["quantised"].as_object().unwrap() {
        let (seed, unit) = case.split_once(' ').unwrap();
        let unit: f32 = unit.parse().unwrap();
        let row: Vec<f32> = values(64, seed.parse().unwrap()).iter().map(|v| v * unit).collect();
        let mut words = [0; 2 * WORDS];
        for isa in Isa::testable() {
            isa.run(Quantise { row: &row, words: &mut words });
            let mut found = String::new();
            for words in words.as_chunks::<WORDS>().0 {
                for (word, sign) in words[..2].iter().zip([1.0, -1.0]) {
                    let half = f16::from_f32(f32::from_bits(*word) * sign);
                    found.extend(half.to_le_bytes().map(|byte| format!("{byte:02x}")));
                }
                let integers = words[WORDS - GROUP / 4..].iter().flat_map(|word| word.to_le_bytes());
                found.extend(integers.map(|byte| format!("{byte:02x}")));
            }
            assert_eq!(found, bytes.as_str().unwrap(), "{case}, {isa}");
        }
    }
}

/// The sum of all integers is also that of the sums of each four.
#[test]
fn sums_of_four_integers_are_theirs() {
    let mut words = [0; WORDS];
    Isa::detect().run(Quantise { row: &values(GROUP, 12), words: &mut words });
    let (sums, integers) = words[2..].split_at(GROUP / 4);
    for (sum, four) in sums.iter().zip(integers) {
        let exact: i32 = four.to_le_bytes().iter().map(|byte| i32::from(byte.cast_signed())).sum();
        assert_eq!(*sum as i32, exact);
    }
}

#[test]
fn a_group_that_is_not_finite_has_no_number_as_its_scale() {
    for bad in [f32::NAN, f32::INFINITY] {
        let mut row = values(GROUP, 1);
        row[7] = bad;
        let mut words = [0; WORDS];
        Isa::detect().run(Quantise { row: &row, words: &mut words });
        assert!(f32::from_bits(words[0]).is_nan());
    }
}

struct Softmax<'a>(&'a mut [f32], usize, f32);

impl Kernel for Softmax<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        softmax(simd, self.0, self.1, self.2);
    }
}

#[test]
fn softmax_has_llama_cpps_bits() {
    for (case, expected) in cases("soft_max") {
        let (seen, scale) = case.split_once(' ').unwrap();
        let (seen, scale): (usize, f32) = (seen.parse().unwrap(), scale.parse().unwrap());
        for isa in Isa::testable() {
            let mut scores = values(expected.len(), 8);
            isa.run(Softmax(&mut scores, seen, scale));
            assert_eq!(bits(&scores), expected, "{case}, {isa}");
        }
    }
}

#[test]
fn swiglu_has_llama_cpps_bits() {
    let expected = words(&routines()["swiglu"]);
    let gate: Vec<f32> = values(96, 9).iter().map(|v| v * 20.0).collect();
    for isa in Isa::testable() {
        let mut out = vec![0.0; 96];
        isa.run(SwiGlu { gate: &gate, up: &values(96, 10), out: &mut out });
        assert_eq!(bits(&out), expected, "{isa}");
    }
}

#[test]
fn the_exponential_is_close_to_float64_and_has_its_limits() {
    for at in -10_300..8_870 {
        let x = at as f32 / 100.0;
        let (got, want) = (f64::from(exp(x)), f64::from(x).exp());
        // Two units in the last place, or of the smallest number there is.
        assert!((got - want).abs() <= (want * 2.4e-7).max(2.9e-45), "{x}: {got} for {want}");
    }
    assert_eq!((exp(-200.0), exp(f32::NEG_INFINITY), exp(200.0)), (0.0, 0.0, f32::INFINITY));
    assert!(exp(f32::NAN).is_nan());
}

struct Fold([f32; 64]);

impl Kernel for Fold {
    type Output = f32;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f32 {
        let mut sums = [simd.splat(0.0); 64];
        for (sum, value) in sums.iter_mut().zip(self.0) {
            *sum = simd.splat(value);
        }
        let mut whole = [0.0; LANES];
        simd.store(fold(simd, sums), &mut whole);
        whole[0]
    }
}

/// Numbers that only this order leaves: 2²⁴ takes up no 1, but 2.
#[test]
fn halves_are_added_until_one_is_left() {
    let mut sums = [0.0; 64];
    (sums[0], sums[1], sums[33]) = (16_777_216.0, 1.0, 1.0);
    assert_eq!(Isa::detect().run(Fold(sums)), 16_777_218.0);
    (sums[0], sums[1], sums[32], sums[33]) = (16_777_216.0, 0.0, 1.0, 1.0);
    assert_eq!(Isa::detect().run(Fold(sums)), 16_777_216.0);
}

/// A sum in f32, or of squares that are not rounded, gives another scale.
#[test]
fn the_norm_sums_rounded_squares_in_f64() {
    // A row of which other sums give other scales.
    let x = values(64, 13);
    let scale = |sum: f64| 1.0 / ((sum / 64.0) as f32 + 1e-5).sqrt();
    let rounded: f64 = x.iter().map(|v| f64::from(v * v)).sum();
    let unrounded: f64 = x.iter().map(|v| f64::from(*v) * f64::from(*v)).sum();
    let in_f32: f32 = x.iter().map(|v| v * v).sum();
    assert_eq!(inverse_rms(&x, 1e-5), scale(rounded));
    assert_ne!(scale(rounded), scale(unrounded));
    assert_ne!(scale(rounded), scale(f64::from(in_f32)));
}

/// The angles are products of f32, and of each pair one product is fused.
#[test]
fn heads_are_rotated_with_one_product_fused() {
    let step = step(10_000.0, 8);
    assert_eq!(step, 10_000_f32.powf(-0.25));
    let angles: Vec<f32> = angles(7, step, 4).collect();
    assert_eq!(angles, [7.0, 7.0 * step, 7.0 * step * step, 7.0 * step * step * step]);
    let (cos, sin): (Vec<f32>, Vec<f32>) = angles.iter().map(|a| (a.cos(), a.sin())).unzip();
    let mut head = values(8, 13);
    let before = head.clone();
    Isa::detect().run(Rotate { head: &mut head, cos: &cos, sin: &sin });
    for i in 0..4 {
        let (a, b) = (before[i], before[i + 4]);
        assert_eq!(head[i], a.mul_add(cos[i], -(b * sin[i])));
        assert_eq!(head[i + 4], a.mul_add(sin[i], b * cos[i]));
    }
}
