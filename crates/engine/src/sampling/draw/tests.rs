//! The walk over weights, and how often it ends where.

use super::*;

fn candidates(weights: &[f64]) -> Vec<Candidate> {
    (0..).zip(weights).map(|(id, &weight)| Candidate { id, logit: 0.0, weight }).collect()
}

#[test]
fn walks_the_cumulative_weights() {
    let c = candidates(&[1.0, 0.0, 2.0, 1.0]);
    for (u, id) in [(0.0, 0), (0.249, 0), (0.25, 2), (0.5, 2), (0.749, 2), (0.75, 3), (0.999, 3)] {
        assert_eq!(draw(&c, u), id, "u = {u}");
    }
}

#[test]
fn never_draws_a_weight_of_zero() {
    let c = candidates(&[0.0, 1.0, 0.0]);
    assert_eq!(draw(&c, 0.0), 1);
    assert_eq!(draw(&c, 1.0 - f64::EPSILON / 2.0), 1);
}

/// Draws with the documented generator follow the weights: chi-square over fixed seeds, hence repeatable.
#[test]
fn frequencies_follow_the_weights() {
    let weights = [0.5, 0.2, 0.1, 0.1, 0.05, 0.03, 0.015, 0.005];
    let c = candidates(&weights);
    for seed in [0, 1, 7, 0xDEAD_BEEF_0123_4567] {
        let n = 20_000u32;
        let mut seen = [0u32; 8];
        for step in 0..n {
            seen[draw(&c, crate::sampling::philox::uniform(seed, step.into())) as usize] += 1;
        }
        let chi: f64 = seen
            .iter()
            .zip(weights)
            .map(|(&count, w)| (f64::from(count) - w * f64::from(n)).powi(2) / (w * f64::from(n)))
            .sum();
        // Seven degrees of freedom: 24.3 is exceeded once in a thousand.
        assert!(chi < 24.3, "seed {seed}: {chi}");
    }
}
