//! Two servers under the same load, by turns.

use serde::Serialize;
use tilewright_model::Refusal;

use super::{LoadReport, LoadSettings, Progress, Summaries, run};
use crate::stats::{median, ratios};

/// One load at each server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Round {
    /// At ours, whose replies have to be those given alone.
    pub ours: LoadReport,
    /// At the other, whose replies that differ are counted.
    pub theirs: LoadReport,
}

/// One figure of both servers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The median of ours over the rounds.
    pub ours: f64,
    /// The median of theirs.
    pub theirs: f64,
    /// The median of the rounds' ratios, ours to theirs.
    pub ratio: f64,
}

impl Comparison {
    /// Of the figure that `of` takes from a load.
    ///
    /// # Errors
    /// `gate_failed` when a load has no times.
    pub fn of(rounds: &[Round], of: impl Fn(&Summaries) -> f64) -> Result<Self, Refusal> {
        let mut figures = (Vec::new(), Vec::new());
        for round in rounds {
            figures.0.push(of(&round.ours.times()?.summaries));
            figures.1.push(of(&round.theirs.times()?.summaries));
        }
        let (ours, theirs) = figures;
        Ok(Self { ours: median(&ours), theirs: median(&theirs), ratio: median(&ratios(&theirs, &ours)) })
    }
}

/// Sends `rounds` loads to each of two servers (ours, theirs), the same to both; which is first turns from round to round,
/// and every round has prompts of its own.
///
/// # Errors
/// Those of [`run`].
pub fn compare(
    [ours, theirs]: [&str; 2],
    vocab: usize,
    settings: &LoadSettings,
    rounds: usize,
    progress: Progress<'_>,
) -> Result<Vec<Round>, Refusal> {
    let round = |index: usize| {
        let done = 2 * index * settings.requests;
        let told = |more: usize| move |now, _| progress(done + more + now, 2 * rounds * settings.requests);
        let (first, second) = (told(0), told(settings.requests));
        let settings = LoadSettings { first: settings.first + index * settings.requests, ..settings.clone() };
        let counted = LoadSettings { exact: false, ..settings.clone() };
        if index.is_multiple_of(2) {
            let ours = run(ours, vocab, settings, &first)?;
            Ok(Round { ours, theirs: run(theirs, vocab, counted, &second)? })
        } else {
            let theirs = run(theirs, vocab, counted, &first)?;
            Ok(Round { ours: run(ours, vocab, settings, &second)?, theirs })
        }
    };
    (0..rounds).map(round).collect()
}
