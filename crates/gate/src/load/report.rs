//! The report of a load, and its audit.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tilewright_model::{Code, Finding, Refusal};

use super::{ALONE, arrivals};
use crate::report::{Machine, Software, hex, settled};
use crate::stats::near;

/// The version of the form below.
pub(super) const SCHEMA: u32 = 3;

/// What is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSettings {
    /// Requests in all.
    pub requests: usize,
    /// When they are sent.
    pub pace: Pace,
    /// Number of the first prompt: loads that follow one another count on, so that no prompt comes twice.
    pub first: usize,
    /// Ids of a prompt.
    pub prompt_tokens: usize,
    /// Tokens of a reply.
    pub output_tokens: usize,
    /// Of the times between requests.
    pub seed: u64,
    /// Whether a reply has to be the one that is given alone. Else replies that differ are only counted: some servers compute
    /// otherwise in company.
    pub exact: bool,
}

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// So many a second on average, however long replies take.
    Rate(f64),
    /// By so many clients, each when it has its latest reply.
    Clients(usize),
}

/// A report of one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadReport {
    /// Of the program that wrote it.
    pub schema: u32,
    /// `bench serve`.
    pub program: String,
    /// When, in UTC.
    pub created: String,
    /// The machine that sent the load; the server's own where both run on it.
    pub machine: Machine,
    /// The program that sent it.
    pub software: Software,
    /// What the server says of its build.
    pub server: String,
    /// What was sent.
    pub settings: LoadSettings,
    /// Ids of each prompt.
    pub prompts: Vec<Vec<u32>>,
    /// SHA-256 of the replies to the first prompts, asked again alone.
    pub alone: Vec<String>,
    /// Times, or why there are none.
    pub outcome: LoadOutcome,
    /// SHA-256 of all of the above.
    pub seal: String,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadOutcome {
    /// Every reply was the one of its prompt.
    Passed(Box<LoadTimes>),
    /// One was not, or did not come.
    Failed(LoadFailure),
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadFailure {
    /// Request by request.
    pub what: Vec<String>,
}

/// Everything timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadTimes {
    /// Load averages before and after, where the system has them.
    pub load: Option<[[f64; 3]; 2]>,
    /// Every request, in the order they were due.
    pub requests: Vec<Request>,
    /// What follows from them.
    pub summaries: Summaries,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// When it was due, in nanoseconds.
    pub due_ns: u64,
    /// When it was sent.
    pub sent_ns: u64,
    /// When each piece of text came.
    pub events_ns: Vec<u64>,
    /// When the stream ended.
    pub done_ns: u64,
    /// Tokens of the reply.
    pub tokens: usize,
    /// SHA-256 of the text.
    pub text: String,
}

/// Of some times, in nanoseconds: each is one that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Percentiles {
    /// How many.
    pub count: usize,
    /// Half are no longer.
    pub p50: u64,
    /// Nine in ten.
    pub p90: u64,
    /// Nineteen in twenty.
    pub p95: u64,
    /// Ninety-nine in a hundred.
    pub p99: u64,
    /// The longest.
    pub most: u64,
}

impl Percentiles {
    /// By nearest rank: the least time that so many are no longer than.
    pub fn of(mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        let count = times.len();
        let rank =
            |percent: usize| times.get((percent * count).div_ceil(100).max(1) - 1).copied().unwrap_or(0);
        Self { count, p50: rank(50), p90: rank(90), p95: rank(95), p99: rank(99), most: rank(100) }
    }
}

/// What follows from the requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summaries {
    /// From the moment a request was due to the first piece of its text.
    pub first: Percentiles,
    /// Between two pieces of one reply.
    pub between: Percentiles,
    /// From the moment a request was due to its end.
    pub whole: Percentiles,
    /// Tokens a second, from the first request due to the last end.
    pub rate: f64,
    /// Replies that were others alone, of those asked again.
    pub differing: usize,
}

impl Summaries {
    /// Of these requests, and of what the first of them were answered alone.
    pub fn of(requests: &[Request], alone: &[String]) -> Self {
        let first = requests.iter().filter_map(|r| r.events_ns.first()?.checked_sub(r.due_ns));
        let between = requests.iter().flat_map(|r| r.events_ns.windows(2).map(|pair| pair[1] - pair[0]));
        let whole = requests.iter().map(|r| r.done_ns.saturating_sub(r.due_ns));
        let end = requests.iter().map(|r| r.done_ns).max().unwrap_or(0);
        let start = requests.iter().map(|r| r.due_ns).min().unwrap_or(0);
        let tokens: usize = requests.iter().map(|r| r.tokens).sum();
        Self {
            first: Percentiles::of(first.collect()),
            between: Percentiles::of(between.collect()),
            whole: Percentiles::of(whole.collect()),
            rate: tokens as f64 * 1e9 / (end - start).max(1) as f64,
            differing: requests.iter().zip(alone).filter(|(request, alone)| request.text != **alone).count(),
        }
    }
}

impl LoadReport {
    /// The report under the seal that fits.
    ///
    /// # Errors
    /// `report_invalid` when a number cannot be written.
    pub fn sealed(self) -> Result<Self, Refusal> {
        let mut settled = settled(self)?;
        settled.seal = settled.due_seal()?;
        Ok(settled)
    }

    fn due_seal(&self) -> Result<String, Refusal> {
        let bare = Self { seal: String::new(), ..self.clone() };
        Ok(hex(&Sha256::digest(bare.json()?.as_bytes())))
    }

    /// The report on one line.
    ///
    /// # Errors
    /// `report_invalid` when a number cannot be written.
    pub fn json(&self) -> Result<String, Refusal> {
        serde_json::to_string(self)
            .map_err(|e| Refusal::new(Code::ReportInvalid, "report", "finite numbers", e))
    }

    /// Everything timed.
    ///
    /// # Errors
    /// `gate_failed` with what went wrong.
    pub fn times(&self) -> Result<&LoadTimes, Refusal> {
        match &self.outcome {
            LoadOutcome::Passed(times) => Ok(times),
            LoadOutcome::Failed(failure) => {
                let finding = |what: &String| Finding::new("load", "the reply of its prompt", what);
                Err(Refusal::with_findings(Code::GateFailed, failure.what.iter().map(finding).collect()))
            }
        }
    }

    /// Computes everything again.
    ///
    /// # Errors
    /// `report_invalid` with everything that does not follow.
    pub fn audit(&self) -> Result<(), Refusal> {
        let mut faults: Vec<String> = Vec::new();
        let mut due = |holds: bool, what: &str| {
            if !holds {
                faults.push(what.to_owned());
            }
        };
        due(self.schema == SCHEMA, "another schema");
        due(self.due_seal()? == self.seal, "the seal does not fit the report");
        let settings = &self.settings;
        due(self.prompts.iter().all(|p| p.len() == settings.prompt_tokens), "a prompt of another length");
        due(self.prompts.len() == settings.requests, "prompts are missing");
        due(self.alone.len() == settings.requests.min(ALONE), "a prompt was not asked alone");
        match &self.outcome {
            LoadOutcome::Failed(failure) => due(!failure.what.is_empty(), "a failure that says nothing"),
            LoadOutcome::Passed(times) => {
                let requests = &times.requests;
                due(requests.len() == settings.requests, "requests are missing");
                match settings.pace {
                    Pace::Rate(_) => {
                        let near = |(r, due): (&Request, &u64)| r.due_ns.abs_diff(*due) <= 1000;
                        let planned = requests.iter().zip(&arrivals(settings)).all(near);
                        due(planned, "requests are not due when the seed says");
                    }
                    Pace::Clients(clients) => {
                        let at_once = |r: &Request| {
                            requests.iter().filter(|o| o.due_ns <= r.due_ns && r.due_ns < o.done_ns).count()
                        };
                        due(requests.iter().all(|r| at_once(r) <= clients), "more at once than clients");
                    }
                }
                due(
                    !settings.exact || times.summaries.differing == 0,
                    "another reply than when it was asked alone",
                );
                let ordered = |r: &Request| {
                    let times: Vec<u64> = [r.due_ns, r.sent_ns]
                        .into_iter()
                        .chain(r.events_ns.iter().copied())
                        .chain([r.done_ns])
                        .collect();
                    times.is_sorted() && !r.events_ns.is_empty() && r.tokens == settings.output_tokens
                };
                due(requests.iter().all(ordered), "a request whose times or tokens cannot be");
                if requests.iter().all(ordered) {
                    let again = Summaries::of(requests, &self.alone);
                    let same = Summaries { rate: times.summaries.rate, ..again } == times.summaries;
                    due(
                        same && near(again.rate, times.summaries.rate),
                        "summaries do not follow from the requests",
                    );
                }
            }
        }
        let finding = |fault| Finding::new("audit", "a report that follows from itself", fault);
        Refusal::check(Code::ReportInvalid, faults.into_iter().map(finding).collect())
    }
}
