//! Load at a running server: requests when they are due however long earlier ones take, or as many clients as said, each
//! of which asks again when it has its reply.
//!
//! Every request has a prompt of its own, so that no server finds one in its memory. After the load some prompts are asked
//! again, alone: a reply that was another one under load makes the run a failure without times, unless such replies are
//! only to be counted. Latencies count from the moment a request was due, so that a sender that is late hides nothing.

mod compare;
mod http;
mod report;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use tilewright_model::Refusal;

use crate::machine::{load, now};
use crate::programs::synthetic;
use crate::report::{Machine, Software, hex};
use crate::seeded::Draw;

use http::Peer;

pub use compare::{Comparison, Round, compare};
pub use report::{
    LoadFailure, LoadOutcome, LoadReport, LoadSettings, LoadTimes, Pace, Percentiles, Request, Summaries,
};

/// Prompts that are asked again, alone.
pub(crate) const ALONE: usize = 8;

/// What is told while a load runs: requests done, and how many there are.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// Sends the load to the server at `address` (`127.0.0.1:8080`) and gives an audited report.
///
/// # Errors
/// `server_unmeasurable` when it cannot be reached or does not answer as it should.
pub fn run(
    address: &str,
    vocab: usize,
    settings: LoadSettings,
    progress: Progress<'_>,
) -> Result<LoadReport, Refusal> {
    let server = Peer(address).version()?;
    let prompts: Vec<Vec<u32>> = (0..settings.requests)
        .map(|p| synthetic(vocab, settings.first + p, settings.prompt_tokens))
        .collect();
    // A server that has not answered yet may be slow once.
    let warm: Vec<u32> = prompts.iter().take(1).flatten().rev().copied().collect();
    Peer(address).complete(&warm, settings.output_tokens, Instant::now())?;

    let sender = Sender { address, settings: &settings, prompts: &prompts, clock: Instant::now(), progress };
    let before = load();
    let answers = match settings.pace {
        Pace::Rate(_) => sender.open_loop(),
        Pace::Clients(clients) => sender.closed_loop(clients),
    };
    let after = load();
    let mut alone = Vec::new();
    for prompt in prompts.iter().take(ALONE) {
        alone.push(sha(&Peer(address).complete(prompt, settings.output_tokens, Instant::now())?.text));
    }

    let mut faults = Vec::new();
    let mut requests = Vec::new();
    for (index, answer) in answers.into_iter().enumerate() {
        match answer {
            Ok(request) if settings.exact && alone.get(index).is_some_and(|text| *text != request.text) => {
                faults.push(format!("request {index}: another reply than when it was asked alone"));
            }
            Ok(request) => requests.push(request),
            Err(refusal) => faults.push(format!("request {index}: {refusal}")),
        }
    }
    let outcome = if faults.is_empty() {
        let summaries = Summaries::of(&requests, &alone);
        let load = before.zip(after).map(|(b, a)| [b, a]);
        LoadOutcome::Passed(Box::new(LoadTimes { load, requests, summaries }))
    } else {
        LoadOutcome::Failed(LoadFailure { what: faults })
    };
    let report = LoadReport {
        schema: report::SCHEMA,
        program: "bench serve".to_owned(),
        created: now(),
        machine: Machine::here(None),
        software: Software::this(),
        server,
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

/// What sends the requests of one load.
#[derive(Clone, Copy)]
struct Sender<'a> {
    address: &'a str,
    settings: &'a LoadSettings,
    prompts: &'a [Vec<u32>],
    clock: Instant,
    progress: Progress<'a>,
}

impl Sender<'_> {
    /// Every request when it is due.
    fn open_loop(&self) -> Vec<Result<Request, Refusal>> {
        let (due, done) = (arrivals(self.settings), AtomicUsize::new(0));
        let send = |index: usize| {
            let due_ns: u64 = due[index];
            thread::sleep(Duration::from_nanos(due_ns).saturating_sub(self.clock.elapsed()));
            self.request(index, due_ns, &done)
        };
        thread::scope(|scope| {
            let send = &send;
            let threads: Vec<_> =
                (0..self.prompts.len()).map(|index| scope.spawn(move || send(index))).collect();
            threads.into_iter().map(joined).collect()
        })
    }

    /// Every request as soon as one of `clients` is free; it is due then.
    fn closed_loop(&self, clients: usize) -> Vec<Result<Request, Refusal>> {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let client = || {
            let mut answers = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= self.prompts.len() {
                    return answers;
                }
                let due = self.clock.elapsed().as_nanos() as u64;
                answers.push((index, self.request(index, due, &done)));
            }
        };
        let mut answers: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
            threads.into_iter().flat_map(joined).collect()
        });
        answers.sort_by_key(|(index, _)| *index);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    fn request(&self, index: usize, due_ns: u64, done: &AtomicUsize) -> Result<Request, Refusal> {
        let sent_ns = self.clock.elapsed().as_nanos() as u64;
        let reply =
            Peer(self.address).complete(&self.prompts[index], self.settings.output_tokens, self.clock)?;
        (self.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, self.prompts.len());
        Ok(Request {
            due_ns,
            sent_ns,
            events_ns: reply.events_ns,
            done_ns: reply.done_ns,
            tokens: reply.tokens,
            text: sha(&reply.text),
        })
    }
}

fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// When each request is due, in nanoseconds from the start: gaps of an exponential distribution, from the seed. None where
/// clients take turns.
pub(crate) fn arrivals(settings: &LoadSettings) -> Vec<u64> {
    let Pace::Rate(rate) = settings.pace else { return Vec::new() };
    let draws = Draw::new(settings.seed, "arrivals");
    let mut at = 0.0;
    (0..settings.requests as u64)
        .map(|index| {
            let due = at;
            let share = (draws.bits(index) >> 11) as f64 / (1u64 << 53) as f64;
            at += -(1.0 - share).ln() / rate * 1e9;
            due as u64
        })
        .collect()
}

fn sha(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}
