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
fn the_first_value_that_is_not_finite_is_found() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut values = vec![0.5f32; 3000];
        values[2047] = bad;
        values[2050] = bad;
        assert_eq!(first_not_finite(&values), Some(2047));
    }
    assert_eq!(first_not_finite(&[f32::MAX, f32::MIN, 0.0]), None);
    assert_eq!(first_not_finite(&[]), None);
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
