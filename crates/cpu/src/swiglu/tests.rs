//! SwiGLU against float64.

use super::swiglu;
use crate::simd::Isa;

#[test]
fn agrees_with_float64_and_stays_finite() {
    let gate: Vec<f32> = (-2000..2003).map(|i| i as f32 / 10.0).collect();
    let up: Vec<f32> = (0..gate.len()).map(|i| (i % 17) as f32 - 8.0).collect();
    for isa in Isa::testable() {
        let mut out = vec![0.0; gate.len()];
        swiglu(isa, &gate, &up, &mut out);
        for ((g, u), o) in gate.iter().zip(&up).zip(&out) {
            let want = f64::from(*g) / (1.0 + (-f64::from(*g)).exp()) * f64::from(*u);
            let error = (f64::from(*o) - want).abs();
            assert!(error <= 1e-6 * want.abs().max(1e-3), "{isa}: silu({g}) * {u} = {o}, not {want}");
        }
    }
}

#[test]
fn poison_passes_through() {
    let mut out = [0.0; 2];
    swiglu(Isa::detect(), &[f32::NAN, 1.0], &[1.0, f32::NAN], &mut out);
    assert!(out.iter().all(|v| v.is_nan()));
}
