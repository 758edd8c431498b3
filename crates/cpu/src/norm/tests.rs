//! RMSNorm against float64.

use tilewright_backend::Numerics;

use crate::rows::Rows;
use crate::simd::Isa;

fn native(isa: Isa) -> Rows {
    Rows { isa, numerics: Numerics::Native }
}

#[test]
fn rows_of_any_width_agree_with_float64() {
    for width in [1, 2, 15, 16, 17, 64, 100, 1024] {
        let x: Vec<f32> = (0..width).map(|i| ((i * 37 % 101) as f32 - 50.0) / 7.0 + 0.01).collect();
        let weight: Vec<f32> = (0..width).map(|i| 1.0 + (i % 5) as f32 / 10.0).collect();
        let square: f64 = x.iter().map(|v| f64::from(*v).powi(2)).sum();
        let scale = 1.0 / (square / width as f64 + 1e-6).sqrt();
        let mut out = vec![0.0; width];
        native(Isa::detect()).rms_norm(&x, &weight, 1e-6, &mut out);
        for i in 0..width {
            let want = f64::from(x[i]) * scale * f64::from(weight[i]);
            assert!((f64::from(out[i]) - want).abs() <= 1e-6 * want.abs().max(1.0), "width {width}, {i}");
        }
        let mut same = x.clone();
        native(Isa::detect()).rms_norm_in_place(&mut same, &weight, 1e-6);
        assert_eq!(same, out);
    }
}

/// The inverse is that of the sum itself, rounded once: values halfway between two integers depend on its last bit.
#[test]
fn a_row_is_scaled_by_the_inverse_of_its_exact_sum() {
    for seed in 0..200 {
        let x: Vec<f32> = (0..576).map(|i| ((i * 37 + seed * 211) % 1009) as f32 / 97.0 - 5.0).collect();
        let sum: f64 = x.iter().map(|v| f64::from(v * v)).sum();
        let scale = 1.0 / ((sum / 576.0) as f32 + 1e-5).sqrt();
        let mut out = vec![0.0; 576];
        native(Isa::detect()).rms_norm(&x, &[1.0; 576], 1e-5, &mut out);
        assert!(out.iter().zip(&x).all(|(out, x)| *out == x * scale), "row {seed}");
    }
}

#[test]
fn a_poisoned_row_stays_poisoned() {
    let mut out = [0.0; 4];
    native(Isa::detect()).rms_norm(&[1.0, f32::NAN, 2.0, 3.0], &[1.0; 4], 1e-6, &mut out);
    assert!(out.iter().all(|v| v.is_nan()));
}

#[test]
fn every_instruction_set_gives_the_same_bits() {
    let x: Vec<f32> = (0..203).map(|i| ((i * 31 % 97) as f32 - 48.0) / 9.0).collect();
    let results = Isa::testable().into_iter().map(|isa| {
        let mut out = vec![0.0; x.len()];
        native(isa).rms_norm(&x, &x, 1e-5, &mut out);
        (isa, out)
    });
    let results: Vec<_> = results.collect();
    for (isa, out) in &results {
        assert_eq!(*out, results[0].1, "{isa}");
    }
}
