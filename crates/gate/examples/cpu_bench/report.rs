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
    kernels: String,
    peer: Option<String>,
    pub(crate) ours: Vec<Times>,
    pub(crate) theirs: Vec<Times>,
}

impl Row {
    pub(crate) fn new(case: &Case, load: Load, plan: &Plan, peer: Option<String>) -> Self {
        Self {
            name: case.name(),
            load,
            config: case.preset.config(),
            bytes_per_token: plan.bytes_per_token,
            kernels: plan.kernels.clone(),
            peer,
            ours: Vec::new(),
            theirs: Vec::new(),
        }
    }

    /// Lines for prefill and, where tokens were decoded, for decode. Prefill beside decode is only the way there.
    fn lines(&self, limits: Limits) -> Vec<String> {
        let Load { prefill, decode } = self.load;
        if decode > 0 {
            let rate = |times: &[Times]| Rates::of(times, |t| decode as f64 / t.decode);
            let ours = rate(&self.ours);
            let share = ours.median * self.bytes_per_token as f64 / limits.read;
            vec![self.line(&format!("decode after {prefill}"), ours, rate(&self.theirs), share, "read")]
        } else {
            let rate = |times: &[Times]| Rates::of(times, |t| prefill as f64 / t.prefill);
            let ours = rate(&self.ours);
            let share = ours.median / prefill as f64 * operations(&self.config, prefill) / limits.fma;
            vec![self.line(&format!("prefill of {prefill}"), ours, rate(&self.theirs), share, "f32 peak")]
        }
    }

    fn line(&self, what: &str, ours: Rates, theirs: Rates, share: f64, of: &str) -> String {
        let (peer, ratio) = if self.theirs.is_empty() {
            ("–".to_owned(), "–".to_owned())
        } else {
            (theirs.to_string(), format!("{:.2} ×", ours.median / theirs.median))
        };
        format!("| {} | {what} | {ours} | {peer} | {ratio} | {:.0} % of {of} |", self.name, share * 100.0)
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

/// Prints the table with the limits it is held against: the larger of both probes, so that no share flatters.
pub(crate) fn print(rows: &[Row], threads: usize, probes: [Limits; 2]) {
    let [before, after] = probes;
    let gib = |limits: Limits| format!("{:.1} GB/s, {:.0} GFLOP/s", limits.read / 1e9, limits.fma / 1e9);
    println!("{threads} threads; limits before: {}; after: {}.", gib(before), gib(after));
    let versions = rows.iter().find_map(|row| Some((&row.kernels, row.peer.as_ref()?)));
    if let Some((kernels, peer)) = versions {
        println!("Ours: {kernels}. Peer: {peer}.");
    }
    println!("Tokens a second: median (least–most) of {}.", rows.first().map_or(0, |row| row.ours.len()));
    println!();
    println!("| model, weights | load | ours | llama.cpp | ratio | share of the machine |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let limits = Limits { read: before.read.max(after.read), fma: before.fma.max(after.fma) };
    for line in rows.iter().flat_map(|row| row.lines(limits)) {
        println!("{line}");
    }
}
