//! The exponential against the standard library's, and its bits.

use super::*;

#[test]
fn is_within_two_units_of_the_last_place() {
    for i in 0..=400_000 {
        let x = -f64::from(i) * 708.0 / 400_000.0;
        let (got, expected) = (exp(x), x.exp());
        assert!((got - expected).abs() <= 2.0 * f64::EPSILON * expected, "{x}: {got:e} {expected:e}");
    }
}

#[test]
fn the_ends_are_exact() {
    assert_eq!((exp(0.0), exp(-0.0)), (1.0, 1.0));
    for x in [-708.1, -1e9, f64::MIN, f64::NEG_INFINITY] {
        assert_eq!(exp(x), 0.0);
    }
    assert!(exp(-5e-324) == 1.0 && exp(-708.0) > 0.0);
}

/// Bits that every machine must give.
#[test]
fn has_the_same_bits_everywhere() {
    let bits: Vec<u64> = [-0.1, -1.0, -2.5, -30.0, -700.0].iter().map(|&x| exp(x).to_bits()).collect();
    assert_eq!(
        bits,
        [
            0x3FEC_F46D_99D5_2B3A,
            0x3FD7_8B56_362C_EF38,
            0x3FB5_0385_C094_F425,
            0x3D3A_56E0_C2AC_7F75,
            0x00D1_4F2B_0FB9_307F
        ]
    );
}
