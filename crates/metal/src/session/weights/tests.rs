//! Formats that are too narrow, and what rounding changes.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use super::*;

#[test]
fn a_weight_that_f16_would_make_infinite_is_refused_with_it() {
    let fit_half = |numbers: &[f32]| fit(WeightFormat::F16, numbers, |n| f16::from_f32(n).is_infinite());
    fit_half(&[0.0, -65_504.0, 65_519.0, f32::INFINITY, f32::NAN]).unwrap();
    for wide in [65_520.0, -1e5, 3e38] {
        let refusal = fit_half(&[1.0, wide]).unwrap_err();
        assert_eq!(refusal.code(), Code::DeviceOptionInvalid);
        assert!(refusal.findings()[0].got.contains(&wide.to_string()), "{refusal}");
    }
}

#[test]
fn what_rounding_to_bf16_changes_is_counted_and_what_it_would_make_infinite_refused() {
    let mut numbers = [1.0, -0.0, 1.0 + f32::EPSILON, 0.1, -2.5];
    assert_eq!(round(&mut numbers).unwrap(), 2);
    assert_eq!(round(&mut numbers).unwrap(), 0, "twice is once");
    let refusal = round(&mut [1.0, f32::MAX]).unwrap_err();
    assert_eq!(refusal.code(), Code::DeviceOptionInvalid);
    assert!(refusal.findings()[0].got.contains("bf16"), "{refusal}");
}
