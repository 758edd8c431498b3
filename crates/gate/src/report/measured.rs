//! Raw trials, and every number that follows from them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Arm, Part, Workload};
use crate::stats::{Interval, median_interval, median_of_ratios, near, ratio_of_medians, ratios};

/// One run of one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// Which arm.
    pub arm: String,
    /// In which round, from 0.
    pub round: usize,
    /// At which place of the round, from 0.
    pub slot: usize,
    /// When it was asked to run, in nanoseconds of one clock of the driver.
    pub start_ns: u64,
    /// When its answer was there, by the same clock; for a peer this includes the way to another process.
    pub end_ns: u64,
    /// Time of the prompt, by the arm's own clock.
    pub prompt_ns: Option<u64>,
    /// Time of the steps, by the arm's own clock.
    pub decode_ns: Option<u64>,
    /// Ids that each sequence chose.
    pub ids: Vec<Vec<u32>>,
}

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// From the prompt to its first token.
    Prompt,
    /// The steps after it.
    Decode,
    /// Both.
    Total,
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prompt => "prompt",
            Self::Decode => "decode",
            Self::Total => "total",
        })
    }
}

impl Metric {
    /// What a workload has.
    pub fn of(workload: &Workload) -> &'static [Self] {
        match (workload.prompt > 0, workload.steps > 0) {
            (true, true) => &[Self::Prompt, Self::Decode, Self::Total],
            (true, false) => &[Self::Prompt],
            (false, true) => &[Self::Decode],
            (false, false) => &[],
        }
    }

    /// Nanoseconds of a trial.
    pub fn time(self, trial: &Trial) -> Option<f64> {
        let ns = match self {
            Self::Prompt => trial.prompt_ns,
            Self::Decode => trial.decode_ns,
            Self::Total => trial.prompt_ns.zip(trial.decode_ns).map(|(prompt, decode)| prompt + decode),
        };
        ns.map(|ns| ns as f64)
    }

    /// Tokens it stands for: those taken in, or those chosen after the first, or all that were chosen.
    pub fn tokens(self, workload: &Workload) -> usize {
        workload.ids.len()
            * match self {
                Self::Prompt => workload.prompt,
                Self::Decode => workload.steps,
                Self::Total => workload.outputs(),
            }
    }
}

/// The times of one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Which arm.
    pub arm: String,
    /// Of what.
    pub metric: Metric,
    /// Trials.
    pub trials: usize,
    /// Least, in nanoseconds.
    pub least: f64,
    /// Most.
    pub most: f64,
    /// Median with its interval.
    pub median: Interval,
    /// Tokens a second at the median.
    pub rate: f64,
}

/// What a difference of nothing looks like: the candidate against itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// Of what.
    pub metric: Metric,
    /// Control over candidate, a round each.
    pub ratios: Vec<f64>,
    /// Their median with its interval.
    pub median_of_ratios: Interval,
    /// How far that interval reaches from 1, as a share: no smaller difference means anything.
    pub noise: f64,
}

/// A peer against the candidate. A ratio above 1 is for the candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Which peer.
    pub peer: String,
    /// Of what.
    pub metric: Metric,
    /// The peer's time over the candidate's, a round each.
    pub ratios: Vec<f64>,
    /// Rounds that the candidate won.
    pub wins: usize,
    /// Median of the ratios with its interval.
    pub median_of_ratios: Interval,
    /// Ratio of the two medians with its interval.
    pub ratio_of_medians: Interval,
    /// Ids that the peer chose as the candidate did, up to the first that differs, over all sequences.
    pub same_ids: usize,
    /// Ids chosen.
    pub ids: usize,
    /// What may be said.
    pub verdict: Verdict,
    /// That, in words.
    pub headline: String,
}

/// What may be said of two arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The candidate is faster.
    Faster,
    /// The candidate is slower.
    Slower,
    /// No difference was shown, which is not parity.
    NotShown,
    /// The two summaries disagree by more than the noise, or the machine was busy: nothing may be said.
    Refused,
}

/// The trials of a workload and what follows from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The workload.
    pub workload: String,
    /// Trials left out. There are none, ever: no trial is an outlier.
    pub excluded: usize,
    /// Runs before the first round, which are checked and not counted.
    pub warmups: Vec<Trial>,
    /// Every trial, in the order they were run.
    pub trials: Vec<Trial>,
    /// One for each arm and metric.
    pub summaries: Vec<Summary>,
    /// One for each metric, where there is a control.
    pub noise: Vec<Noise>,
    /// One for each peer and metric.
    pub comparisons: Vec<Comparison>,
}

impl Measured {
    /// Everything that follows from `trials` of `workload` by `arms`, the first of which is the candidate.
    ///
    /// On a machine that was `busy` with other work no comparison is a headline.
    pub fn new(
        workload: &Workload,
        arms: &[Arm],
        warmups: Vec<Trial>,
        trials: Vec<Trial>,
        busy: bool,
    ) -> Self {
        let mut measured = Self {
            workload: workload.name.clone(),
            excluded: 0,
            warmups,
            trials,
            summaries: Vec::new(),
            noise: Vec::new(),
            comparisons: Vec::new(),
        };
        let Some(candidate) = arms.first() else { return measured };
        for &metric in Metric::of(workload) {
            let ours = measured.times(&candidate.name, metric);
            let mut noise = None;
            for arm in arms {
                let times = measured.times(&arm.name, metric);
                measured.summaries.push(summary(arm, metric, workload, &times));
                if arm.part == Part::Control {
                    let of = control(metric, &ours, &times);
                    noise = Some(of.noise);
                    measured.noise.push(of);
                }
            }
            for arm in arms.iter().filter(|arm| arm.part == Part::Peer) {
                let times = measured.times(&arm.name, metric);
                let ids = (measured.ids(&candidate.name), measured.ids(&arm.name));
                let limits = Limits { noise: noise.unwrap_or(0.0), busy };
                let comparison = comparison(arm, metric, &ours, &times, limits, ids);
                measured.comparisons.push(comparison);
            }
        }
        measured
    }

    /// Times of an arm, by round.
    pub fn times(&self, arm: &str, metric: Metric) -> Vec<f64> {
        let mut times: Vec<(usize, f64)> = self
            .trials
            .iter()
            .filter(|trial| trial.arm == arm)
            .filter_map(|trial| Some((trial.round, metric.time(trial)?)))
            .collect();
        times.sort_by_key(|(round, _)| *round);
        times.into_iter().map(|(_, time)| time).collect()
    }

    /// The ids of an arm's first trial.
    fn ids(&self, arm: &str) -> &[Vec<u32>] {
        self.trials.iter().find(|trial| trial.arm == arm).map_or(&[], |trial| &trial.ids)
    }

    /// The summary of an arm.
    pub fn summary(&self, arm: &str, metric: Metric) -> Option<&Summary> {
        self.summaries.iter().find(|summary| summary.arm == arm && summary.metric == metric)
    }

    /// Where the numbers that follow from the trials are other than those of `other`.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        let mut differs = |what: &str, same: bool| {
            if !same {
                differences.push(format!("{}: {what} do not follow from the trials", self.workload));
            }
        };
        differs(
            "summaries",
            same(&self.summaries, &other.summaries, |a, b| {
                (&a.arm, a.metric, a.trials) == (&b.arm, b.metric, b.trials)
                    && near(a.least, b.least)
                    && near(a.most, b.most)
                    && near(a.rate, b.rate)
                    && a.median.is_near(&b.median)
            }),
        );
        differs(
            "the noise and its ratios",
            same(&self.noise, &other.noise, |a, b| {
                a.metric == b.metric
                    && same(&a.ratios, &b.ratios, |a, b| near(*a, *b))
                    && a.median_of_ratios.is_near(&b.median_of_ratios)
                    && near(a.noise, b.noise)
            }),
        );
        differs(
            "comparisons and their ratios",
            same(&self.comparisons, &other.comparisons, |a, b| {
                (&a.peer, a.metric, a.wins, a.same_ids, a.ids)
                    == (&b.peer, b.metric, b.wins, b.same_ids, b.ids)
                    && same(&a.ratios, &b.ratios, |a, b| near(*a, *b))
                    && a.median_of_ratios.is_near(&b.median_of_ratios)
                    && a.ratio_of_medians.is_near(&b.ratio_of_medians)
                    && (a.verdict, &a.headline) == (b.verdict, &b.headline)
            }),
        );
        differences
    }
}

fn same<T>(a: &[T], b: &[T], equal: impl Fn(&T, &T) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
}

fn summary(arm: &Arm, metric: Metric, workload: &Workload, times: &[f64]) -> Summary {
    let median = median_interval(times);
    Summary {
        arm: arm.name.clone(),
        metric,
        trials: times.len(),
        least: times.iter().copied().fold(f64::INFINITY, f64::min),
        most: times.iter().copied().fold(0.0, f64::max),
        median,
        rate: metric.tokens(workload) as f64 * 1e9 / median.at,
    }
}

fn control(metric: Metric, ours: &[f64], control: &[f64]) -> Noise {
    let median_of_ratios = median_of_ratios(ours, control);
    Noise { metric, ratios: ratios(ours, control), median_of_ratios, noise: median_of_ratios.reach() }
}

/// What bounds a comparison.
#[derive(Clone, Copy)]
struct Limits {
    noise: f64,
    busy: bool,
}

fn comparison(
    arm: &Arm,
    metric: Metric,
    ours: &[f64],
    theirs: &[f64],
    limits: Limits,
    (our_ids, their_ids): (&[Vec<u32>], &[Vec<u32>]),
) -> Comparison {
    let ratios = ratios(ours, theirs);
    let (paired, overall) = (median_of_ratios(ours, theirs), ratio_of_medians(ours, theirs));
    let verdict = if limits.busy { Verdict::Refused } else { verdict(paired, overall, limits.noise) };
    let leading = |(a, b): (&Vec<u32>, &Vec<u32>)| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    Comparison {
        peer: arm.name.clone(),
        metric,
        wins: ratios.iter().filter(|ratio| **ratio > 1.0).count(),
        ratios,
        median_of_ratios: paired,
        ratio_of_medians: overall,
        same_ids: our_ids.iter().zip(their_ids).map(leading).sum(),
        ids: our_ids.iter().map(Vec::len).sum(),
        verdict,
        headline: headline(verdict, paired, overall, limits, &arm.name, metric),
    }
}

/// A difference must show in both summaries, alike up to the noise, and pass it.
fn verdict(paired: Interval, overall: Interval, noise: f64) -> Verdict {
    let slack = (1.0 + noise).ln();
    let agree = (paired.at / overall.at).ln().abs() <= slack;
    if !agree {
        return Verdict::Refused;
    }
    let beyond = |low: f64| low > 1.0 + noise;
    if beyond(paired.low) && overall.low > 1.0 {
        Verdict::Faster
    } else if beyond(1.0 / paired.high) && overall.high < 1.0 {
        Verdict::Slower
    } else {
        Verdict::NotShown
    }
}

fn headline(
    verdict: Verdict,
    paired: Interval,
    overall: Interval,
    limits: Limits,
    peer: &str,
    metric: Metric,
) -> String {
    let Interval { at, low, high } = paired;
    let noise = 100.0 * limits.noise;
    match verdict {
        Verdict::Faster | Verdict::Slower => {
            format!("{metric}: {at:.2} times as fast as {peer} ({low:.2} to {high:.2}; noise {noise:.1} %)")
        }
        Verdict::NotShown => format!(
            "{metric}: no difference to {peer} shown ({low:.2} to {high:.2}; noise {noise:.1} %), which is not parity"
        ),
        Verdict::Refused if limits.busy => {
            format!("{metric}: nothing is said about {peer}: the machine was busy with other work")
        }
        Verdict::Refused => format!(
            "{metric}: nothing is said about {peer}: the median of ratios is {at:.2}, the ratio of medians {:.2}, and \
             the noise {noise:.1} %",
            overall.at
        ),
    }
}
