//! What is quantised, read back.

use super::quantise;
use crate::{StoredType, Tensor};

/// A row of numbers between -1 and 1, mostly small.
fn row(seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32 / (1u64 << 23) as f32 - 1.0).powi(3)
    };
    (0..512).map(|_| next()).collect()
}

fn back(stored: StoredType, values: &[f32]) -> Vec<f32> {
    let mut bytes = Vec::new();
    quantise(stored, values, &mut bytes);
    assert_eq!(bytes.len(), stored.bytes(values.len()));
    let shape = [1, values.len()];
    Tensor { name: "t", shape: &shape, stored, transposed: false, interleaved: None, bytes: &bytes }
        .to_f32()
        .unwrap()
}

/// Root mean square of the error beside that of the values.
fn error(stored: StoredType, values: &[f32]) -> f32 {
    let square = |values: &mut dyn Iterator<Item = f32>| values.map(|v| v * v).sum::<f32>();
    let got = back(stored, values);
    (square(&mut got.iter().zip(values).map(|(a, b)| a - b)) / square(&mut values.iter().copied())).sqrt()
}

#[test]
fn errors_are_those_of_the_bits() {
    for seed in 0..20 {
        for (stored, most) in [
            (StoredType::Q8_0, 0.008),
            (StoredType::Q6K, 0.03),
            (StoredType::Q4_0, 0.14),
            (StoredType::Q4K, 0.12),
        ] {
            let error = error(stored, &row(seed));
            assert!(error < most, "{stored}: {error}");
        }
    }
}

#[test]
fn zeros_stay_zeros() {
    for stored in [StoredType::Q8_0, StoredType::Q4_0, StoredType::Q4K, StoredType::Q6K] {
        assert!(back(stored, &[0.0; 256]).iter().all(|v| *v == 0.0), "{stored}");
    }
}

/// Elements that a type holds exactly are not moved.
#[test]
fn multiples_of_a_scale_are_exact() {
    let ramp = |most: i32| (0..256).map(move |i| (i % (2 * most) - most) as f32 * 0.25).collect::<Vec<_>>();
    assert_eq!(back(StoredType::Q4_0, &ramp(8)), ramp(8));
    let even: Vec<f32> = (0..256).map(|i| (i % 255 - 127) as f32 * 0.25).collect();
    let mut row = vec![0.0; 256];
    row.iter_mut().zip(&even).for_each(|(to, v)| *to = *v);
    // Every block needs its extreme for the scale to be exact.
    row.chunks_mut(32).for_each(|block| block[0] = 31.75);
    assert_eq!(back(StoredType::Q8_0, &row), row);
}
