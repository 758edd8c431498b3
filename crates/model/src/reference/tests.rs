//! The pieces of the forward.

use super::math::*;
use super::*;

#[test]
fn linear_is_rows_times_transposed_weights_plus_bias() {
    let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let w = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0];
    assert_eq!(linear(&x, 3, &w, Some(&[0.5, 0.0])), [1.5, 6.0, 4.5, 15.0]);
}

#[test]
fn dot_counts_every_element_whatever_the_length() {
    for n in 0..13 {
        let ones = vec![1.0; n];
        assert_eq!(dot(&ones, &ones), n as f64);
    }
}

#[test]
fn rms_norm_of_each_run_has_unit_mean_square() {
    let y = rms_norm(&[3.0, 4.0, 30.0, 40.0], &[1.0, 2.0], 0.0);
    let rms = 12.5f64.sqrt();
    for (got, want) in y.iter().zip([3.0 / rms, 8.0 / rms, 3.0 / rms, 8.0 / rms]) {
        assert!((got - want).abs() <= 1e-15);
    }
}

#[test]
fn rotation_pairs_the_halves_and_leaves_position_zero() {
    let mut x = [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0];
    let quarter = std::f64::consts::FRAC_PI_2;
    rotate(&mut x, 1, 4, 0, &[quarter, 2.0 * quarter], 1.0);
    for (got, want) in x.iter().zip([1.0, 2.0, 3.0, 4.0, -3.0, -2.0, 1.0, -4.0]) {
        assert!((got - want).abs() <= 1e-15, "{x:?}");
    }
}

#[test]
fn attention_averages_values_by_softmax_of_scores() {
    // Scores (after 1/sqrt(1)) are 0 and ln 3: weights 1/4 and 3/4.
    let y = attend(&[1.0], &[0.0, 3f64.ln()], &[4.0, 8.0]);
    assert!((y[0] - 7.0).abs() <= 1e-14);
}

#[test]
fn greedy_choice_takes_the_lowest_of_equal_ids() {
    assert_eq!(top(&[0.0, 2.0, 2.0, 1.0]), (1, 0.0));
    assert_eq!(top(&[5.0, 2.0, 3.5]), (0, 1.5));
}

#[test]
fn surprise_of_equal_logits_is_the_log_of_their_number() {
    assert!((surprise(&[700.0; 8], 3) - 8f64.ln()).abs() <= 1e-12);
}
