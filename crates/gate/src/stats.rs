//! Medians, ratios of pairs, and bootstrap intervals: every number of a report that is not a raw trial.
//!
//! All of it is a function of the trials and of fixed seeds, so that whoever holds a report can compute it again.

use serde::{Deserialize, Serialize};

use crate::seeded::Draw;

#[cfg(test)]
mod tests;

/// Times that the trials are drawn anew for an interval.
pub const RESAMPLES: u64 = 2000;
/// The seed of those draws.
pub const SEED: u64 = 20_260_731;
/// The share of the draws that lies inside an interval.
pub const CONFIDENCE: f64 = 0.95;

/// A number with its bootstrap interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// The number itself.
    pub at: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` lies inside.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// How far the interval reaches from 1, as a share: 0.03 when it is 0.98 to 1.03.
    pub fn reach(&self) -> f64 {
        self.low.ln().abs().max(self.high.ln().abs()).exp() - 1.0
    }

    /// Equal but for the last bits that a number loses in a file.
    pub fn is_near(&self, other: &Self) -> bool {
        near(self.at, other.at) && near(self.low, other.low) && near(self.high, other.high)
    }
}

/// Equal but for the last bits that a number loses in a file.
pub fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}

/// The middle value, or the mean of the two middle ones; NaN of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len(), sorted.len() / 2) {
        (0, _) => f64::NAN,
        (n, half) if n % 2 == 1 => sorted[half],
        (_, half) => sorted[half - 1].midpoint(sorted[half]),
    }
}

/// The median of `values` with its interval.
pub fn median_interval(values: &[f64]) -> Interval {
    bootstrap(values.len(), |draw| median(&draw.iter().map(|i| values[*i]).collect::<Vec<_>>()))
}

/// Ratios of pairs, `theirs / ours`.
pub fn ratios(ours: &[f64], theirs: &[f64]) -> Vec<f64> {
    ours.iter().zip(theirs).map(|(ours, theirs)| theirs / ours).collect()
}

/// The median of the pairs' ratios, `theirs / ours`, with its interval.
pub fn median_of_ratios(ours: &[f64], theirs: &[f64]) -> Interval {
    median_interval(&ratios(ours, theirs))
}

/// The ratio of the two medians, `theirs / ours`, with its interval; whole pairs are drawn.
pub fn ratio_of_medians(ours: &[f64], theirs: &[f64]) -> Interval {
    bootstrap(ours.len().min(theirs.len()), |draw| {
        let of = |values: &[f64]| median(&draw.iter().map(|i| values[*i]).collect::<Vec<_>>());
        of(theirs) / of(ours)
    })
}

/// `estimate` of the trials as they are, and the interval of its values over drawn trials.
fn bootstrap(count: usize, estimate: impl Fn(&[usize]) -> f64) -> Interval {
    let at = estimate(&(0..count).collect::<Vec<_>>());
    if count == 0 {
        return Interval { at, low: at, high: at };
    }
    let draws = Draw::new(SEED, "bootstrap");
    let mut values: Vec<f64> = (0..RESAMPLES)
        .map(|sample| {
            let index = |i: usize| (draws.bits(sample * count as u64 + i as u64) % count as u64) as usize;
            estimate(&(0..count).map(index).collect::<Vec<_>>())
        })
        .collect();
    values.sort_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let last = values.len() - 1;
    let place = |share: f64| values[(share * last as f64).round() as usize];
    Interval { at, low: place(tail), high: place(1.0 - tail) }
}
