//! The exponential against float64.
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "a NaN must fail the comparison")]

use super::{LEAST, MOST, exp};
use crate::simd::{Isa, Kernel, LANES, Simd};

struct Exp([f32; LANES]);

impl Kernel for Exp {
    type Output = [f32; LANES];

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> [f32; LANES] {
        let mut out = [0.0; LANES];
        s.store(exp(s, s.load(&self.0)), &mut out);
        out
    }
}

#[test]
fn the_error_is_below_one_unit_in_the_last_place() {
    let mut worst = (0.0_f64, 0.0_f32);
    // Every 997th float of either sign: each binade thousands of times.
    let mut xs = (0..MOST.to_bits()).step_by(997).flat_map(|b| [f32::from_bits(b), -f32::from_bits(b)]);
    let isa = Isa::detect();
    loop {
        let x: [f32; LANES] = std::array::from_fn(|_| xs.next().unwrap_or(0.0).max(LEAST));
        if x == [0.0; LANES] {
            break;
        }
        for (x, got) in x.into_iter().zip(isa.run(Exp(x))) {
            let want = f64::from(x).exp();
            let below = want as f32;
            let unit = f64::from(f32::from_bits(below.to_bits() + 1)) - f64::from(below);
            let error = (f64::from(got) - want).abs() / unit;
            if !(error <= worst.0) {
                worst = (error, x);
            }
        }
    }
    eprintln!("largest error {:.3} units in the last place, at {:e}", worst.0, worst.1);
    assert!(worst.0 < 1.0, "{worst:?}");
}

#[test]
fn every_instruction_set_gives_the_same_bits_and_the_same_edges() {
    let mut x = [0.0; LANES];
    x[..9].copy_from_slice(&[1.0, -1.0, 0.3, 87.0, -87.3, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -1e30]);
    let want = Isa::detect().run(Exp(x)).map(f32::to_bits);
    for isa in Isa::testable() {
        let got = isa.run(Exp(x));
        assert_eq!(got.map(f32::to_bits)[..7], want[..7], "{isa}");
        assert_eq!(got[9], 1.0, "{isa}");
        assert!(got[5].is_finite() && got[5] > 2e38, "{isa}: {}", got[5]);
        assert!(got[6] > 0.0 && got[6] < 2e-38 && got[8] == got[6], "{isa}: {}", got[6]);
        assert!(got[7].is_nan(), "{isa}: {}", got[7]);
    }
}
