//! Ties, and values that are not finite.

use proptest::prelude::*;

use super::*;

#[test]
fn ties_go_to_the_lowest_id() {
    let mut values = vec![1.0f32; 5000];
    values[7] = 3.0;
    values[8] = 3.0;
    values[4999] = 3.0;
    assert_eq!(argmax(&values), 7);
    assert_eq!(argmax(&[0.0, -0.0]), 0);
    assert_eq!(argmax(&[-0.0, 0.0]), 0);
    assert_eq!(argmax(&[f32::NEG_INFINITY; 3]), 0);
    assert_eq!(argmax(&[]), 0);
}

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

proptest! {
    #[test]
    fn argmax_is_the_first_maximum(values in prop::collection::vec(-3i8..3, 1..3000)) {
        let values: Vec<f32> = values.into_iter().map(f32::from).collect();
        let largest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        prop_assert_eq!(argmax(&values), values.iter().position(|&x| x == largest).unwrap());
        prop_assert_eq!(max(&values), largest);
    }
}
