//! Formats that are too narrow.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use super::*;

#[test]
fn a_weight_that_f16_would_make_infinite_is_refused_with_it() {
    fit_half(&[0.0, -65_504.0, 65_519.0, f32::INFINITY, f32::NAN]).unwrap();
    for wide in [65_520.0, -1e5, 3e38] {
        let refusal = fit_half(&[1.0, wide]).unwrap_err();
        assert_eq!(refusal.code(), Code::DeviceOptionInvalid);
        assert!(refusal.findings()[0].got.contains(&wide.to_string()), "{refusal}");
    }
}
