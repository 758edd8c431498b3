//! Weights, masks and merging of partial sums.

use std::ops::Range;

use super::{Weight, exponentiate, merge};
use crate::simd::{LANES, Portable};

#[test]
fn weights_are_exponentials_of_what_is_valid() {
    for valid in [1, 15, 16, 17, 63] {
        let mut scores: Vec<f32> = (0..64).map(|i| ((i * 29) % 13) as f32 - 6.0).collect();
        let before = scores.clone();
        let weight = exponentiate(Portable, &mut scores, valid);
        let most = before[..valid].iter().copied().fold(f32::MIN, f32::max);
        assert_eq!(weight.most, most);
        let wants = before[..valid].iter().map(|s| f64::from(s - most).exp());
        let sum: f64 = wants.clone().sum();
        assert!((f64::from(weight.sum) - sum).abs() <= 1e-6 * sum);
        for (got, want) in scores.iter().zip(wants) {
            assert!((f64::from(*got) - want).abs() <= 1e-6 * want);
        }
    }
}

#[test]
fn what_is_masked_does_not_reach_the_sum() {
    let mut scores = [5.0; LANES];
    assert_eq!(exponentiate(Portable, &mut scores, 1), Weight { most: 5.0, sum: 1.0 });
}

#[test]
fn merging_halves_gives_the_whole() {
    let scores: Vec<f32> = (0..32).map(|i| ((i * 7) % 11) as f32 * 3.0).collect();
    let part = |range: Range<usize>| {
        let mut s = scores[range.clone()].to_vec();
        let weight = exponentiate(Portable, &mut s, range.len());
        (weight, [s.iter().zip(range).map(|(a, b)| a * b as f32).sum::<f32>(); LANES])
    };
    let (whole, total) = part(0..32);
    let (mut weight, mut out) = part(0..16);
    let (later, add) = part(16..32);
    merge(Portable, &mut weight, &mut out, later, &add);
    assert_eq!(weight.most, whole.most);
    assert!((out[0] / weight.sum - total[0] / whole.sum).abs() <= 1e-5);
}

#[test]
fn a_poisoned_score_poisons_the_row() {
    let mut scores = [0.0; LANES];
    scores[3] = f32::NAN;
    assert!(exponentiate(Portable, &mut scores, 5).sum.is_nan());
    let mut out = [1.0; LANES];
    let mut weight = Weight { most: 0.0, sum: 1.0 };
    merge(Portable, &mut weight, &mut out, Weight { most: f32::NAN, sum: f32::NAN }, &[1.0; LANES]);
    assert!(weight.sum.is_nan() && out[0].is_nan());
}
