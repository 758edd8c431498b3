//! What a GPU could do at most when it was measured.

use serde::{Deserialize, Serialize};

use crate::stats::{median, near};

/// The fewest trials that a limit is the median of.
const LEAST_TRIALS: usize = 3;

/// Limits of the GPU that a run used, all measured at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceCeilings {
    /// Which device: `cuda:0`.
    pub device: String,
    /// Its name.
    pub name: String,
    /// Bytes read from memory.
    pub read: Rate,
    /// f32 operations, two to a fused multiply-add.
    pub f32: Rate,
    /// Products of bf16 with sums in f32, where the GPU has such.
    pub bf16: Option<Products>,
}

/// Products of matrices by instructions made for them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Products {
    /// Which: `wgmma`, `mma.sync`.
    pub instruction: String,
    /// Operations, two to a multiply-add.
    pub rate: Rate,
}

/// The same work done again and again. No trial is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Bytes or operations of a trial.
    pub work: u64,
    /// Nanoseconds of every trial, in their order.
    pub times_ns: Vec<f64>,
    /// Work in a second, in the slowest trial.
    pub least: f64,
    /// At the median time.
    pub median: f64,
    /// In the fastest trial.
    pub most: f64,
}

impl Rate {
    /// What follows from the times of trials of so much work.
    pub fn new(work: u64, times_ns: Vec<f64>) -> Self {
        let rate = |ns: f64| work as f64 / ns * 1e9;
        let slowest = times_ns.iter().copied().fold(0.0, f64::max);
        let fastest = times_ns.iter().copied().fold(f64::INFINITY, f64::min);
        Self { work, least: rate(slowest), median: rate(median(&times_ns)), most: rate(fastest), times_ns }
    }

    /// Whether it can have been measured, and follows from its trials.
    fn is_sound(&self) -> bool {
        let again = Self::new(self.work, self.times_ns.clone());
        self.work > 0
            && self.times_ns.len() >= LEAST_TRIALS
            && self.times_ns.iter().all(|ns| ns.is_finite() && *ns > 0.0)
            && near(self.least, again.least)
            && near(self.median, again.median)
            && near(self.most, again.most)
    }

    /// Its median and range in words; `unit` is `B/s` or `FLOP/s`.
    pub fn describe(&self, unit: &str) -> String {
        format!(
            "{} ({} to {} in {} trials)",
            per_second(self.median, unit),
            per_second(self.least, unit),
            per_second(self.most, unit),
            self.times_ns.len()
        )
    }
}

impl DeviceCeilings {
    /// Its limits by name, with their units.
    pub fn rates(&self) -> Vec<(String, &'static str, &Rate)> {
        let mut rates = vec![("read".to_owned(), "B/s", &self.read), (F32.to_owned(), "FLOP/s", &self.f32)];
        rates.extend(self.bf16.iter().map(|products| (products.name(), "FLOP/s", &products.rate)));
        rates
    }

    /// What of it does not follow from its trials.
    pub fn faults(&self) -> Vec<String> {
        let unsound = self.rates().into_iter().filter(|(_, _, rate)| !rate.is_sound());
        let mut faults: Vec<String> = unsound
            .map(|(name, ..)| format!("ceiling of {}: {name} does not follow from its trials", self.device))
            .collect();
        if self.bf16.as_ref().is_some_and(|products| products.instruction.is_empty()) {
            faults.push(format!("ceiling of {}: products by no instruction", self.device));
        }
        faults
    }
}

/// What multiply-adds in f32 are called.
pub(crate) const F32: &str = "f32 multiply-add";

impl Products {
    /// What they are called.
    pub(crate) fn name(&self) -> String {
        format!("bf16 products by {} with sums in f32", self.instruction)
    }
}

/// A rate in the unit that suits it, with three digits.
pub(crate) fn per_second(rate: f64, unit: &str) -> String {
    let (value, prefix) = if rate >= 1e12 { (rate / 1e12, "T") } else { (rate / 1e9, "G") };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {prefix}{unit}")
}

#[cfg(test)]
mod tests;
