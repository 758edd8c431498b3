//! Counters, gauges and histograms, in Prometheus' text format.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tilewright_engine::Load;

/// Upper bounds of the histograms' buckets, in seconds.
const BOUNDS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0];

#[derive(Clone, Copy, Debug, Default)]
struct Histogram {
    buckets: [u64; BOUNDS.len()],
    count: u64,
    sum: f64,
}

impl Histogram {
    fn add(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        self.count += 1;
        self.sum += seconds;
        if let Some(bucket) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.buckets[bucket] += 1;
        }
    }

    fn write(&self, out: &mut String, name: &str, help: &str) {
        head(out, name, help, "histogram");
        let mut total = 0;
        for (bound, count) in BOUNDS.iter().zip(self.buckets) {
            total += count;
            let _ = writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {total}");
        }
        let _ = writeln!(out, "{name}_bucket{{le=\"+Inf\"}} {}", self.count);
        let _ = writeln!(out, "{name}_sum {}\n{name}_count {}", self.sum, self.count);
    }
}

fn head(out: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

#[derive(Debug, Default)]
struct Counts {
    /// By path and status.
    requests: BTreeMap<(&'static str, u16), u64>,
    first: Histogram,
    between: Histogram,
}

/// What was measured so far.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<Counts>);

impl Metrics {
    fn with<T>(&self, work: impl FnOnce(&mut Counts) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts an answered request.
    pub(crate) fn request(&self, path: &'static str, status: u16) {
        self.with(|counts| *counts.requests.entry((path, status)).or_insert(0) += 1);
    }

    /// Counts tokens that came together: the time of the first since the request came, or since the token before.
    pub(crate) fn tokens(&self, first: bool, time: Duration, tokens: usize) {
        self.with(|counts| {
            if first {
                counts.first.add(time)
            } else {
                counts.between.add(time)
            }
            (1..tokens).for_each(|_| counts.between.add(Duration::ZERO));
        });
    }

    /// Everything, with what the scheduler says.
    pub(crate) fn write(&self, load: Option<Load>) -> String {
        let mut out = String::new();
        if let Some(load) = load {
            let mut number = |name: &str, help: &str, kind: &str, value: u64| {
                head(&mut out, name, help, kind);
                let _ = writeln!(out, "{name} {value}");
            };
            number("tilewright_requests_running", "Replies that run.", "gauge", load.running as u64);
            number("tilewright_requests_waiting", "Replies that wait.", "gauge", load.waiting as u64);
            number("tilewright_sequences_kept", "Ended sequences kept for reuse.", "gauge", load.kept as u64);
            number("tilewright_kv_bytes", "Bytes of keys and values.", "gauge", load.kv_bytes);
            if let Some(limit) = load.kv_limit {
                number("tilewright_kv_limit_bytes", "Bytes that keys and values may take.", "gauge", limit);
            }
            let counter = "counter";
            number("tilewright_prompt_tokens_total", "Tokens of prompts.", counter, load.prompt_tokens);
            number(
                "tilewright_cached_tokens_total",
                "Tokens of prompts that were reused.",
                counter,
                load.cached_tokens,
            );
            number(
                "tilewright_completion_tokens_total",
                "Tokens generated.",
                counter,
                load.completion_tokens,
            );
            number(
                "tilewright_decode_steps_total",
                "Sweeps over the weights for decoding.",
                counter,
                load.steps,
            );
            number(
                "tilewright_preemptions_total",
                "Replies that gave their memory back.",
                counter,
                load.preempted,
            );
        }
        self.with(|counts| {
            head(&mut out, "tilewright_http_requests_total", "Requests answered.", "counter");
            for ((path, status), count) in &counts.requests {
                let _ = writeln!(
                    out,
                    "tilewright_http_requests_total{{path=\"{path}\",status=\"{status}\"}} {count}"
                );
            }
            counts.first.write(
                &mut out,
                "tilewright_time_to_first_token_seconds",
                "From the request to its first token.",
            );
            counts.between.write(&mut out, "tilewright_inter_token_seconds", "From a token to the next.");
        });
        out
    }
}
