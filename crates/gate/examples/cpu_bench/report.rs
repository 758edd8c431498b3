//! The table.

use tilewright_backend::Plan;
use tilewright_gate::probe::Limits;
use tilewright_model::Config;

use crate::Times;
use crate::cases::{Case, Load};
use crate::ours::operations;

/// The repetitions of one load.
pub(crate) struct Row {
    name: String,
    load: Load,
    config: Config,
    bytes_per_token: u64,
    pub(crate) ours: Vec<Times>,
    pub(crate) theirs: Vec<Times>,
}

impl Row {
    pub(crate) fn new(case: &Case, load: Load, plan: &Plan) -> Self {
        Self {
            name: case.name(),
            load,
            config: case.preset.config(),
            bytes_per_token: plan.bytes_per_token,
            ours: Vec::new(),
            theirs: Vec::new(),
        }
    }

    /// A line for prefill or, where tokens were decoded, for decode. Prefill beside decode is only the way there.
    fn line(&self, limits: Limits) -> String {
        let Load { prefill, decode } = self.load;
        let rates = |times: &[Times]| match decode {
            0 => Rates::of(times, |t| prefill as f64 / t.prefill),
            _ => Rates::of(times, |t| decode as f64 / t.decode),
        };
        let (ours, theirs) = (rates(&self.ours), rates(&self.theirs));
        let (what, share, of, limit) = if decode > 0 {
            let read = ours.median * self.bytes_per_token as f64;
            let limit = format!("{:.1} GB/s", limits.read / 1e9);
            (format!("decode after {prefill}"), read / limits.read, "read", limit)
        } else {
            let done = ours.median / prefill as f64 * operations(&self.config, prefill);
            let limit = format!("{:.0} GFLOP/s", limits.fma / 1e9);
            (format!("prefill of {prefill}"), done / limits.fma, "f32 peak", limit)
        };
        let (peer, ratio) = if self.theirs.is_empty() {
            ("–".to_owned(), "–".to_owned())
        } else {
            (theirs.to_string(), format!("{:.2} ×", ours.median / theirs.median))
        };
        let share = format!("{:.0} % of {of}", share * 100.0);
        format!("| {} | {what} | {ours} | {peer} | {ratio} | {share} | {limit} |", self.name)
    }
}

/// Tokens a second over the repetitions.
#[derive(Clone, Copy)]
struct Rates {
    least: f64,
    median: f64,
    most: f64,
}

impl Rates {
    fn of(times: &[Times], rate: impl Fn(&Times) -> f64) -> Self {
        let mut rates: Vec<f64> = times.iter().map(rate).collect();
        rates.sort_by(f64::total_cmp);
        let at = |i: usize| rates.get(i).copied().unwrap_or(f64::NAN);
        Self { least: at(0), median: at(rates.len() / 2), most: at(rates.len().saturating_sub(1)) }
    }
}

impl std::fmt::Display for Rates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} ({:.1}–{:.1})", self.median, self.least, self.most)
    }
}

/// Prints what stands above the rows.
pub(crate) fn heading(threads: usize, reps: usize) {
    println!("{threads} threads. Tokens a second: median (least–most) of {reps}.");
    println!();
    println!("| model, weights | load | ours | llama.cpp | ratio | share of the machine | its limits |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
}

/// Prints a row with the limits it is held against: the larger of the probes before and after it, so that no share
/// flatters.
pub(crate) fn print(row: &Row, [before, after]: [Limits; 2]) {
    let limits = Limits { read: before.read.max(after.read), fma: before.fma.max(after.fma) };
    println!("{}", row.line(limits));
}
