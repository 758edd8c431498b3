//! `bench serve`: load at a running server, or at two by turns.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use tilewright_gate::load::{
    Comparison, LoadReport, LoadSettings, LoadTimes, Pace, Percentiles, Round, Summaries, compare, run,
};
use tilewright_gate::{report::write_new, table};
use tilewright_model::Refusal;

use super::run::new_file;
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::OutputFlags;

/// Send load to a running server and time its replies
///
/// Requests are sent when they are due, at random times of a fixed seed, however long earlier ones take; or with --clients by
/// so many clients, each when it has its latest reply. Every request has a prompt of its own. Some are asked again alone
/// after the load; when one then gets another reply, the report has no times. Latencies count from the moment a request was
/// due. The server may be any that takes ids at /v1/completions, streams and counts tokens; --peer names another that gets
/// the same load by turns.
#[derive(Args, Debug)]
pub(super) struct ServeArgs {
    /// Where the server listens
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080", value_parser = host_and_port, help_heading = "Load")]
    address: String,

    /// Where another server listens, to compare with: replies that are others in company are only counted there
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "load_report", value_parser = host_and_port, help_heading = "Load")]
    peer: Option<String>,

    /// Loads at each of two servers; every one has prompts of its own
    #[arg(long, value_name = "N", default_value_t = 3, requires = "peer", value_parser = clap::value_parser!(u16).range(1..=100), help_heading = "Load")]
    rounds: u16,

    /// Requests of a load
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=4096), help_heading = "Load")]
    requests: u16,

    /// Requests a second, on average
    #[arg(long, value_name = "RATE", default_value_t = 4.0, value_parser = rate, help_heading = "Load")]
    rate: f64,

    /// Clients that take turns with their own requests, instead of a rate
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), conflicts_with = "rate", help_heading = "Load")]
    clients: Option<u16>,

    /// Ids of a prompt
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=MOST), help_heading = "Load")]
    prompt_tokens: u32,

    /// Tokens of a reply
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=MOST), help_heading = "Load")]
    output_tokens: u32,

    /// Ids of prompts are below this
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = clap::value_parser!(u32).range(1..=MOST), help_heading = "Load")]
    vocab: u32,

    /// Number of the first prompt: another one than before, and the server has none of them in memory
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1 << 24), help_heading = "Load")]
    first_prompt: u32,

    /// Seed of the times between requests
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Load")]
    arrivals: u64,

    /// New file for the report of the load
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    load_report: Option<PathBuf>,

    #[command(flatten)]
    pub(super) output: OutputFlags,
}

/// Ids of a prompt, tokens of a reply, ids of a vocabulary at most.
const MOST: i64 = 1_000_000;

/// A host and a port: a request has a path of its own.
fn host_and_port(text: &str) -> Result<String, String> {
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
    if is_port && !host.is_empty() && !host.contains('/') {
        return Ok(text.to_owned());
    }
    Err("HOST:PORT, with no http:// and no path".to_owned())
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if (1e-3..=1e6).contains(&rate) => Ok(rate),
        _ => Err("a number from 0.001 to 1000000".to_owned()),
    }
}

impl ServeArgs {
    pub(super) fn run(self, console: &mut Console) -> Result<(), Failure> {
        self.load_report.iter().try_for_each(|path| new_file("--load-report", path))?;
        let vocab = self.vocab as usize;
        let settings = LoadSettings {
            requests: usize::from(self.requests),
            pace: match self.clients {
                Some(clients) => Pace::Clients(usize::from(clients)),
                None => Pace::Rate(self.rate),
            },
            first: self.first_prompt as usize,
            prompt_tokens: self.prompt_tokens as usize,
            output_tokens: self.output_tokens as usize,
            seed: self.arrivals,
            exact: true,
        };
        let bar = console.bar("requests");
        let told = |done, total| bar.report(done as u64, total as u64);
        if let Some(peer) = &self.peer {
            let rounds = compare([&self.address, peer], vocab, &settings, usize::from(self.rounds), &told)?;
            drop(bar);
            if console.json() {
                console.object(&json!({"rounds": rounds}))?;
            }
            let page = versus(&rounds)?;
            return if console.json() { Ok(()) } else { console.text(&page) };
        }
        let report = run(&self.address, vocab, settings, &told)?;
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

/// What was sent, in words.
fn sent(settings: &LoadSettings) -> String {
    let LoadSettings { requests, pace, prompt_tokens, output_tokens, .. } = settings;
    let pace = match pace {
        Pace::Rate(rate) => format!("at {rate} a second"),
        Pace::Clients(1) => "by 1 client".to_owned(),
        Pace::Clients(clients) => format!("by {clients} clients"),
    };
    format!("{requests} requests {pace}, {prompt_tokens} ids in, {output_tokens} tokens out")
}

/// The percentiles as a table in Markdown.
fn page(report: &LoadReport, times: &LoadTimes) -> String {
    let row = |name: &str, p: &Percentiles| {
        let [p50, p90, p95, p99, most] =
            [p.p50, p.p90, p.p95, p.p99, p.most].map(|ns| table::time(ns as f64));
        format!("| {name} | {p50} | {p90} | {p95} | {p99} | {most} |\n")
    };
    let s = &times.summaries;
    format!(
        "{}: {} tok/s.\n\n\
         | | half | 9 in 10 | 19 in 20 | 99 in 100 | longest |\n| --- | --- | --- | --- | --- | --- |\n{}{}{}",
        sent(&report.settings),
        table::rate(s.rate),
        row("due to first piece", &s.first),
        row("between pieces", &s.between),
        row("due to end", &s.whole),
    )
}

/// Two servers side by side, as medians of the rounds.
fn versus(rounds: &[Round]) -> Result<String, Refusal> {
    let Some(Round { ours, theirs }) = rounds.first() else { return Ok(String::new()) };
    let mut page = format!(
        "{} rounds of {}; {} beside {}.\n\n| | ours | theirs | ours / theirs |\n| --- | --- | --- | --- |\n",
        rounds.len(),
        sent(&ours.settings),
        ours.server,
        theirs.server,
    );
    let mut row = |name: &str, show: fn(f64) -> String, of: fn(&Summaries) -> f64| {
        let Comparison { ours, theirs, ratio } = Comparison::of(rounds, of)?;
        page += &format!("| {name} | {} | {} | {ratio:.2} |\n", show(ours), show(theirs));
        Ok::<_, Refusal>(())
    };
    row("tok/s", table::rate, |s| s.rate)?;
    row("due to first piece, half", table::time, |s| s.first.p50 as f64)?;
    row("due to first piece, 19 in 20", table::time, |s| s.first.p95 as f64)?;
    row("between pieces, half", table::time, |s| s.between.p50 as f64)?;
    row("due to end, half", table::time, |s| s.whole.p50 as f64)?;
    let differing = Comparison::of(rounds, |s| s.differing as f64)?;
    page += &format!("\nReplies of theirs that were others alone, a round: {}.\n", differing.theirs);
    Ok(page)
}
