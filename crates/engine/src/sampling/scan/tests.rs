//! Values that are not finite.

use super::*;

#[test]
fn the_first_value_that_is_not_finite_is_named() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut logits = vec![0.5f32; 3000];
        logits[2047] = bad;
        logits[2050] = bad;
        let refusal = check_finite(&logits, 12).unwrap_err();
        assert_eq!(refusal.code(), Code::NonFiniteLogits);
        assert_eq!(refusal.findings()[0].what, "logit of id 2047 at step 12");
    }
    assert_eq!(check_finite(&[f32::MAX, f32::MIN, 0.0], 0), Ok(()));
}
