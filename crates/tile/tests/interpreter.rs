//! The interpreter computes what the kernels say.

mod common;

use common::{assert_close, run_all};
use tilewright_tile::Scalar;
use tilewright_tile::interp::{Bound, Memory};
use tilewright_tile::testing::examples::{arg_max, gemm, gemv, rms_norm, vector_add};
use tilewright_tile::testing::trial::noise;

#[test]
fn vector_add_adds_every_element_and_nothing_else() {
    let n = 1000;
    let (a, b) = (noise(n, 1), noise(n, 2));
    let mut memory = Memory::new();
    let ids = [memory.f32(&a), memory.f32(&b), memory.poison(n as usize * 4)];
    let bound = ids.map(|id| Bound::Buffer(memory.whole(id)));
    run_all(&vector_add(n), &mut memory, &bound).unwrap();
    let expected: Vec<f64> = a.iter().zip(&b).map(|(a, b)| f64::from(a + b)).collect();
    assert_close(&memory.read_f32(ids[2], Scalar::F32), &expected, 0.0);
}

#[test]
fn rms_norm_follows_the_formula() {
    for (rows, width) in [(3, 1024), (2, 64), (1, 1500)] {
        let (x, w, eps) = (noise(rows * width, 3), noise(width, 4), 1e-6f32);
        let mut memory = Memory::new();
        let ids = [memory.f32(&x), memory.f32(&w), memory.poison((rows * width * 4) as usize)];
        let bound = ids.map(|id| Bound::Buffer(memory.whole(id)));
        run_all(&rms_norm(rows, width, eps), &mut memory, &bound).unwrap();
        let mut expected = Vec::new();
        for row in x.chunks(width as usize) {
            let square: f64 = row.iter().map(|&v| f64::from(v).powi(2)).sum();
            let scale = (square / f64::from(width) + f64::from(eps)).sqrt().recip();
            expected.extend(row.iter().zip(&w).map(|(&x, &w)| f64::from(x) * scale * f64::from(w)));
        }
        assert_close(&memory.read_f32(ids[2], Scalar::F32), &expected, 1e-6);
    }
}

#[test]
fn arg_max_finds_the_first_of_equal_elements() {
    let (rows, width) = (4, 700);
    let mut x = noise(rows * width, 5);
    for (row, at) in [(0, 0), (1, 699), (2, 300), (3, 131)] {
        x[row * 700 + at] = 2.0;
        x[row * 700 + 699] = 2.0;
    }
    let mut memory = Memory::new();
    let ids = [memory.f32(&x), memory.poison(16), memory.poison(16)];
    let bound = ids.map(|id| Bound::Buffer(memory.whole(id)));
    run_all(&arg_max(rows, width), &mut memory, &bound).unwrap();
    assert_eq!(memory.read_f32(ids[1], Scalar::F32), [2.0; 4]);
    assert_eq!(memory.read_i32(ids[2]), [0, 699, 300, 131].map(Some));
}

#[test]
fn the_maximum_of_negative_numbers_is_negative() {
    let x: Vec<f32> = noise(100, 6).iter().map(|v| v - 5.0).collect();
    let mut memory = Memory::new();
    let ids = [memory.f32(&x), memory.poison(4), memory.poison(4)];
    let bound = ids.map(|id| Bound::Buffer(memory.whole(id)));
    run_all(&arg_max(1, 100), &mut memory, &bound).unwrap();
    let most = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    assert_eq!(memory.read_f32(ids[1], Scalar::F32), [most]);
}

#[test]
fn gemv_multiplies_in_every_storage() {
    for (storage, tolerance) in [(Scalar::F32, 1e-6), (Scalar::F16, 1e-6), (Scalar::Bf16, 1e-6)] {
        let (outputs, inputs) = (37, 260);
        let (w, x) = (noise(outputs * inputs, 7), noise(inputs, 8));
        let mut memory = Memory::new();
        let weights = memory.floats(&w, storage);
        let ids = [weights, memory.f32(&x), memory.poison(outputs as usize * 4)];
        let bound = ids.map(|id| Bound::Buffer(memory.whole(id)));
        run_all(&gemv(outputs, inputs, storage), &mut memory, &bound).unwrap();
        let rounded = memory.read_f32(weights, storage);
        let dot = |row: &[f32]| row.iter().zip(&x).map(|(&w, &x)| f64::from(w) * f64::from(x)).sum();
        let expected: Vec<f64> = rounded.chunks(inputs as usize).map(dot).collect();
        assert_close(&memory.read_f32(ids[2], Scalar::F32), &expected, tolerance);
    }
}

#[test]
fn gemm_multiplies_whole_and_partial_tiles() {
    for (m, n, inner) in [(64, 32, 48), (40, 50, 33), (5, 7, 3)] {
        let (a, b) = (noise(m * inner, 9), noise(inner * n, 10));
        let mut memory = Memory::new();
        let ids = [memory.f32(&a), memory.f32(&b), memory.poison((m * n * 4) as usize)];
        let bound = ids.map(|id| Bound::Buffer(memory.whole(id)));
        run_all(&gemm(m, n, inner), &mut memory, &bound).unwrap();
        let term = |r: u32, c: u32, i: u32| {
            f64::from(a[(r * inner + i) as usize]) * f64::from(b[(i * n + c) as usize])
        };
        let dot = |r: u32, c: u32| (0..inner).map(|i| term(r, c, i)).sum();
        let expected: Vec<f64> = (0..m).flat_map(|r| (0..n).map(move |c| dot(r, c))).collect();
        assert_close(&memory.read_f32(ids[2], Scalar::F32), &expected, 1e-5);
    }
}
