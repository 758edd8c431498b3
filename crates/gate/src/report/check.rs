//! What was compared before anything was timed.

use serde::{Deserialize, Serialize};
use tilewright_model::tolerance::{Mismatch, Tolerance, compare};

/// A comparison of many values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// Values compared.
    pub values: u64,
    /// How many were outside the tolerance.
    pub outside: u64,
    /// Largest error, in units of the wanted values' root mean square where the precision says so; `None` when one is
    /// not a number.
    pub max_abs: Option<f64>,
}

impl Compared {
    /// Compares `got` with `want`.
    pub fn of<T: Copy + Into<f64>>(got: &[T], want: &[f64], tolerance: Tolerance, scaled: bool) -> Self {
        let unit = if scaled { rms(want) } else { 1.0 };
        let got: Vec<f64> = got.iter().map(|g| (*g).into() / unit).collect();
        let want: Vec<f64> = want.iter().map(|w| w / unit).collect();
        let values = want.len() as u64;
        match compare(&got, &want, tolerance) {
            Ok(observed) => Self { values, outside: 0, max_abs: Some(observed.max_abs) },
            Err(Mismatch::Value { outside, max_abs, .. }) => {
                Self { values, outside: outside as u64, max_abs: Some(max_abs).filter(|m| m.is_finite()) }
            }
            Err(Mismatch::Length { .. }) => Self { values, outside: values, max_abs: None },
        }
    }

    /// Both taken as one.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let max_abs = self.max_abs.zip(other.max_abs).map(|(a, b)| a.max(b));
        Self { values: self.values + other.values, outside: self.outside + other.outside, max_abs }
    }

    /// Of nothing.
    pub const NONE: Self = Self { values: 0, outside: 0, max_abs: Some(0.0) };

    /// Whether every value was within the tolerance.
    pub fn passed(&self) -> bool {
        self.outside == 0 && self.max_abs.is_some()
    }
}

/// Root mean square; 1 of nothing and of zeros, so that it can be divided by.
pub(crate) fn rms(values: &[f64]) -> f64 {
    let mean = values.iter().map(|v| v * v).sum::<f64>() / values.len().max(1) as f64;
    if mean > 0.0 { mean.sqrt() } else { 1.0 }
}

/// A float64 forward other than our own that took the place of the reference, and how far from ours it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherReference {
    /// Name and version.
    pub version: String,
    /// What it ran on.
    pub place: String,
    /// Tokens that both ran.
    pub tokens: usize,
    /// Logits after each of them.
    pub logits: Compared,
    /// Keys of every layer and KV head.
    pub keys: Compared,
    /// Values of every layer and KV head.
    pub values: Compared,
    /// The row of the table of tolerances.
    pub tolerance: String,
    /// Its allowed share.
    pub rtol: f64,
    /// Its allowed error.
    pub atol: f64,
}

impl OtherReference {
    /// Whether it is our own forward but for rounding.
    pub fn passed(&self) -> bool {
        [self.logits, self.keys, self.values].iter().all(Compared::passed)
    }
}

/// One sequence at one position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The workload.
    pub workload: String,
    /// The sequence, from 0.
    pub sequence: usize,
    /// Tokens it holds.
    pub position: usize,
    /// Logits over the whole vocabulary.
    pub logits: Option<Compared>,
    /// The id of the greatest logit.
    pub chosen: Option<u32>,
    /// The reference's id of the greatest logit.
    pub reference: Option<u32>,
    /// By how much the reference prefers its own id to the one chosen: 0 where they are one.
    pub lead: Option<f64>,
    /// Keys and values.
    pub cache: Option<CacheCheck>,
}

/// Keys and values of every layer over a range of positions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheCheck {
    /// First position.
    pub from: usize,
    /// Keys of every layer and KV head.
    pub keys: Compared,
    /// Values of every layer and KV head.
    pub values: Compared,
}

impl Check {
    /// What is wrong with it, in words.
    pub fn faults(&self) -> Vec<String> {
        let place = format!("{}, sequence {}, position {}", self.workload, self.sequence, self.position);
        let mut faults = Vec::new();
        let cache = self.cache.map(|cache| [("keys", cache.keys), ("values", cache.values)]);
        let parts =
            self.logits.map(|logits| ("logits", logits)).into_iter().chain(cache.into_iter().flatten());
        for (what, compared) in parts.filter(|(_, compared)| !compared.passed()) {
            let most = compared.max_abs.map_or("not a number".to_owned(), |m| format!("{m:e}"));
            let (outside, values) = (compared.outside, compared.values);
            faults.push(format!(
                "{place}: {outside} of {values} {what} outside the tolerance, largest error {most}"
            ));
        }
        if let (Some(chosen), Some(reference), Some(lead)) = (self.chosen, self.reference, self.lead) {
            // Each of the two logits may be off by the largest error, in its own unit.
            let near = lead <= self.slack();
            if chosen != reference && !near {
                faults.push(format!("{place}: chose {chosen}, the reference {reference} by {lead:e}"));
            }
        }
        faults
    }

    /// How far two logits of this comparison may have moved against each other, in the unit of `lead`.
    fn slack(&self) -> f64 {
        2.0 * self.logits.and_then(|logits| logits.max_abs).unwrap_or(0.0)
    }
}

/// The greatest errors of `checks` in logits, keys and values, in words.
pub(crate) fn greatest(checks: &[Check]) -> [String; 3] {
    let most = |part: fn(&Check) -> Option<Compared>| {
        let errors = checks.iter().filter_map(part).map(|part| part.max_abs);
        let most = errors.into_iter().try_fold(0.0, |most: f64, error| Some(most.max(error?)));
        most.map_or("not a number".to_owned(), |most| format!("{most:.2e}"))
    };
    [
        most(|check| check.logits),
        most(|check| check.cache.map(|cache| cache.keys)),
        most(|check| check.cache.map(|cache| cache.values)),
    ]
}

/// A peer's last logits of a prompt beside the reference's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerCheck {
    /// The peer.
    pub arm: String,
    /// Tokens of the prompt.
    pub prompt: usize,
    /// Root mean square of the differences, as a share of that of the reference's logits.
    pub relative_rms: f64,
    /// The most it may be: a model that is another one is off by 1 and more.
    pub allowed: f64,
}

impl PeerCheck {
    /// Whether the peer runs the same model; an error that is not a number says no.
    pub fn passed(&self) -> bool {
        self.relative_rms <= self.allowed
    }
}
