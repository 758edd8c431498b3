//! What a comparison accepts.

use super::*;

const TOLERANCE: Tolerance = Tolerance { name: "test", rtol: 0.1, atol: 0.01, reason: "round numbers" };

#[test]
fn reports_the_largest_error_and_its_place() {
    let observed = compare(&[1.0f32, 2.125, 3.0], &[1.0, 2.0, 3.0], TOLERANCE);
    assert_eq!(observed, Ok(Observed { values: 3, max_abs: 0.125, at: 1 }));
}

#[test]
fn reports_the_first_place_outside_and_counts_the_rest() {
    let mismatch = compare(&[1.0, 2.5, 9.0], &[1.0, 2.0, 3.0], TOLERANCE);
    let Err(Mismatch::Value { at, got, want, outside, values, max_abs, .. }) = mismatch else {
        panic!("{mismatch:?}")
    };
    assert_eq!((at, got, want, outside, values, max_abs), (1, 2.5, 2.0, 2, 3, 6.0));
}

#[test]
fn nan_fails_on_either_side_and_stays_visible() {
    for (got, want) in [(f64::NAN, 1.0), (1.0, f64::NAN), (f64::NAN, f64::NAN)] {
        let mismatch = compare(&[0.0, got, 0.001], &[0.0, want, 0.0], TOLERANCE);
        let Err(Mismatch::Value { at: 1, outside: 1, max_abs, .. }) = mismatch else {
            panic!("{mismatch:?}")
        };
        assert!(max_abs.is_nan());
    }
}

#[test]
fn infinities_equal_only_themselves() {
    let inf = f64::INFINITY;
    assert!(compare(&[inf, -inf], &[inf, -inf], TOLERANCE).is_ok());
    assert!(compare(&[inf], &[-inf], TOLERANCE).is_err());
    assert!(compare(&[inf], &[1e300], TOLERANCE).is_err());
    // A relative tolerance of an infinite value must not let a finite one pass.
    assert!(compare(&[1.0], &[inf], TOLERANCE).is_err());
}

#[test]
fn lengths_must_agree() {
    assert_eq!(compare(&[1.0], &[1.0, 2.0], TOLERANCE), Err(Mismatch::Length { got: 1, want: 2 }));
}

#[test]
fn every_row_of_the_table_has_a_name_of_its_own_and_a_reason() {
    for (i, row) in Tolerance::TABLE.iter().enumerate() {
        assert!(!row.reason.is_empty() && row.rtol + row.atol > 0.0, "{}", row.name);
        assert!(Tolerance::TABLE[..i].iter().all(|other| other.name != row.name), "{}", row.name);
    }
}
