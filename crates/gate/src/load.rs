//! Open-loop load at a running server: requests are sent when they are due, however long earlier ones take.
//!
//! Before the load every prompt is asked alone, and its reply kept; a reply under load that is another one makes the run a
//! failure without times. Latencies count from the moment a request was due, so that a sender that is late hides nothing.

mod http;
mod report;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use tilewright_model::Refusal;

use crate::machine::{load, now};
use crate::programs::synthetic;
use crate::report::hex;
use crate::seeded::Draw;

pub use report::{
    LoadFailure, LoadOutcome, LoadReport, LoadSettings, LoadTimes, Percentiles, Request, Summaries,
};

/// Prompts there are.
const PROMPTS: usize = 8;

/// Sends the load to the server at `address` (`127.0.0.1:8080`) and gives an audited report.
///
/// # Errors
/// `server_unavailable` when it cannot be reached or does not answer as it should.
pub fn run(
    address: &str,
    vocab: usize,
    settings: LoadSettings,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<LoadReport, Refusal> {
    let server = http::get(address, "/version")?;
    let prompts: Vec<Vec<u32>> = (0..PROMPTS).map(|p| synthetic(vocab, p, settings.prompt_tokens)).collect();
    let mut alone = Vec::with_capacity(PROMPTS);
    for (index, prompt) in prompts.iter().enumerate() {
        progress(index, PROMPTS + settings.requests);
        alone.push(sha(&http::complete(address, prompt, settings.output_tokens, Instant::now())?.text));
    }

    let before = load();
    let due = arrivals(&settings);
    let clock = Instant::now();
    let done = std::sync::atomic::AtomicUsize::new(PROMPTS);
    let answers: Vec<Result<Request, Refusal>> = std::thread::scope(|scope| {
        let send = |index: usize| {
            let prompt = index % PROMPTS;
            let due_ns = due[index];
            std::thread::sleep(Duration::from_nanos(due_ns).saturating_sub(clock.elapsed()));
            let sent_ns = clock.elapsed().as_nanos() as u64;
            let reply = http::complete(address, &prompts[prompt], settings.output_tokens, clock)?;
            let count = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            progress(count, PROMPTS + settings.requests);
            Ok(Request {
                prompt,
                due_ns,
                sent_ns,
                events_ns: reply.events_ns,
                done_ns: reply.done_ns,
                tokens: reply.tokens,
                text: sha(&reply.text),
            })
        };
        let threads: Vec<_> = (0..settings.requests).map(|index| scope.spawn(move || send(index))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });

    let mut faults = Vec::new();
    let mut requests = Vec::new();
    for (index, answer) in answers.into_iter().enumerate() {
        match answer {
            Ok(request) if request.text != alone[request.prompt] => {
                faults.push(format!("request {index}: another reply than when it was asked alone"));
            }
            Ok(request) => requests.push(request),
            Err(refusal) => faults.push(format!("request {index}: {refusal}")),
        }
    }
    let outcome = if faults.is_empty() {
        let summaries = Summaries::of(&requests);
        LoadOutcome::Passed(LoadTimes { load: before.zip(load()).map(|(b, a)| [b, a]), requests, summaries })
    } else {
        LoadOutcome::Failed(LoadFailure { what: faults })
    };
    let report = LoadReport {
        schema: report::SCHEMA,
        program: "bench serve".to_owned(),
        created: now(),
        server: server.trim().to_owned(),
        settings,
        prompts,
        alone,
        outcome,
        seal: String::new(),
    }
    .sealed()?;
    report.audit()?;
    Ok(report)
}

/// When each request is due, in nanoseconds from the start: gaps of an exponential distribution, from the seed.
pub(crate) fn arrivals(settings: &LoadSettings) -> Vec<u64> {
    let draws = Draw::new(settings.seed, "arrivals");
    let mut at = 0.0;
    (0..settings.requests as u64)
        .map(|index| {
            let due = at;
            let share = (draws.bits(index) >> 11) as f64 / (1u64 << 53) as f64;
            at += -(1.0 - share).ln() / settings.rate * 1e9;
            due as u64
        })
        .collect()
}

fn sha(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}
