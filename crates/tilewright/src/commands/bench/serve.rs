//! `bench serve`: open-loop load at a running server.

use std::path::PathBuf;

use clap::Args;
use tilewright_gate::load::{LoadReport, LoadSettings, LoadTimes, Percentiles, run};
use tilewright_gate::{report::write_new, table};
use tilewright_model::{Code, Refusal};

use crate::console::Console;
use crate::exit::Failure;
use crate::flags::OutputFlags;

/// Send load to a running server and time its replies
///
/// Requests are sent when they are due, at random times of a fixed seed, however long earlier ones take. Each prompt is asked
/// alone first; when a reply under load is another one, the report has no times. Latencies count from the moment a
/// request was due. The server may be any that takes ids at /v1/completions.
#[derive(Args, Debug)]
pub(super) struct ServeArgs {
    /// Where the server listens
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080", help_heading = "Load")]
    address: String,

    /// Requests
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=4096), help_heading = "Load")]
    requests: u16,

    /// Requests a second, on average
    #[arg(long, value_name = "RATE", default_value_t = 4.0, help_heading = "Load")]
    rate: f64,

    /// Ids of a prompt
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = "Load")]
    prompt_tokens: usize,

    /// Tokens of a reply
    #[arg(long, value_name = "N", default_value_t = 32, help_heading = "Load")]
    output_tokens: usize,

    /// Ids of prompts are below this
    #[arg(long, value_name = "N", default_value_t = 4000, help_heading = "Load")]
    vocab: usize,

    /// Seed of the times between requests
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Load")]
    arrivals: u64,

    /// New file for the report of the load
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    load_report: Option<PathBuf>,

    #[command(flatten)]
    pub(super) output: OutputFlags,
}

impl ServeArgs {
    pub(super) fn run(self, console: &mut Console) -> Result<(), Failure> {
        let positive = self.rate > 0.0 && self.rate.is_finite();
        if !positive || self.prompt_tokens == 0 || self.output_tokens == 0 || self.vocab == 0 {
            let expected = "a rate, lengths and a vocabulary above 0";
            return Err(Refusal::new(Code::RequestInvalid, "load", expected, "0 or less").into());
        }
        let settings = LoadSettings {
            requests: usize::from(self.requests),
            rate: self.rate,
            prompt_tokens: self.prompt_tokens,
            output_tokens: self.output_tokens,
            seed: self.arrivals,
        };
        let bar = console.bar("requests");
        let report =
            run(&self.address, self.vocab, settings, &|done, total| bar.report(done as u64, total as u64))?;
        drop(bar);
        if let Some(path) = &self.load_report {
            write_new(path, &report.json()?)?;
            console.notice("report", &path.display().to_string());
        }
        if console.json() {
            console.line(&report.json()?)?;
            return report.times().map(|_| ()).map_err(|_| Failure::Negative);
        }
        let times = report.times()?;
        console.text(&page(&report, times))
    }
}

/// The percentiles as a table in Markdown.
fn page(report: &LoadReport, times: &LoadTimes) -> String {
    let LoadSettings { requests, rate, prompt_tokens, output_tokens, .. } = &report.settings;
    let row = |name: &str, p: &Percentiles| {
        let [p50, p90, p99, most] = [p.p50, p.p90, p.p99, p.most].map(|ns| table::time(ns as f64));
        format!("| {name} | {p50} | {p90} | {p99} | {most} |\n")
    };
    let s = &times.summaries;
    format!(
        "{requests} requests at {rate} a second, {prompt_tokens} ids in, {output_tokens} tokens out: {} tok/s.\n\n\
         | | half | 9 in 10 | 99 in 100 | longest |\n| --- | --- | --- | --- | --- |\n{}{}{}",
        table::rate(s.rate),
        row("due to first piece", &s.first),
        row("between pieces", &s.between),
        row("due to end", &s.whole),
    )
}
