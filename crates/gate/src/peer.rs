//! Another engine in a process of its own, spoken to in JSON, one object a line each way.
//!
//! | we say | it says |
//! | --- | --- |
//! | `{"op": "open", "model": DIR, "work": DIR, "weights": W, "kv": K, "threads": N, "context": N}` | `{"version": V, "precision": P, "remarks": [...]}` |
//! | `{"op": "logits", "ids": [...]}` | `{"logits": [...]}` after the last id |
//! | `{"op": "run", "depth": N, "prompt": N, "steps": N, "given": B, "ids": [[...]]}` | `{"prompt_ns": N or null, "decode_ns": N or null, "ids": [[...]]}` |
//!
//! Instead of any answer it may say `{"refused": REASON}`. It ends with its input. [`Workload`] says what a run is.

mod adapter;
#[cfg(test)]
mod tests;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tilewright_model::{Code, Refusal};

use crate::arm::{Run, Runner};
use crate::report::{PeerCheck, Workload, rms};

pub use adapter::{PeerChoice, model_folder};

/// The most that the root mean square of a peer's errors may be, as a share of its logits': four bits a weight lose about
/// a tenth, and a model with two matrices exchanged is off by 1.4.
pub const ALLOWED_RMS: f64 = 0.5;

/// How a peer holds the model.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// The checkpoint's folder.
    pub model: &'a Path,
    /// A folder for files made of it.
    pub work: &'a Path,
    /// Our format of weights.
    pub weights: &'a str,
    /// Our format of keys and values.
    pub kv: &'a str,
    /// Threads.
    pub threads: usize,
    /// Positions of a sequence.
    pub context: usize,
}

/// A running peer; it ends when dropped.
pub struct Peer {
    /// Its name.
    pub name: String,
    /// Name and version.
    pub version: String,
    /// In what numbers it holds weights, keys and values.
    pub precision: String,
    /// What else it says of itself.
    pub remarks: Vec<String>,
    child: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

#[derive(Deserialize)]
struct Opened {
    version: String,
    precision: String,
    #[serde(default)]
    remarks: Vec<String>,
}

#[derive(Deserialize)]
struct Logits {
    logits: Vec<f64>,
}

#[derive(Deserialize)]
struct Ran {
    prompt_ns: Option<u64>,
    decode_ns: Option<u64>,
    ids: Vec<Vec<u32>>,
}

impl Peer {
    /// Starts `command` and opens the model in it.
    ///
    /// # Errors
    /// `peer_unavailable` with what it said.
    pub fn start(name: &str, mut command: Command, opening: Opening<'_>) -> Result<Self, Refusal> {
        let refuse = |e: &dyn std::fmt::Display| unavailable(name, e);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|e| refuse(&e))?;
        let (Some(requests), Some(replies)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(refuse(&"a process without input or output"));
        };
        let mut peer = Self {
            name: name.to_owned(),
            version: String::new(),
            precision: String::new(),
            remarks: Vec::new(),
            child,
            requests: Some(requests),
            replies: BufReader::new(replies),
        };
        let Opening { model, work, weights, kv, threads, context } = opening;
        let opened: Opened = peer.ask(&json!({
            "op": "open", "model": model, "work": work, "weights": weights, "kv": kv, "threads": threads,
            "context": context,
        }))?;
        (peer.version, peer.precision, peer.remarks) = (opened.version, opened.precision, opened.remarks);
        Ok(peer)
    }

    /// Compares its logits after `ids` with the reference's, `want`.
    ///
    /// # Errors
    /// `peer_unavailable` when it gives none or another number of them.
    pub fn check(&mut self, ids: &[u32], want: &[f64]) -> Result<PeerCheck, Refusal> {
        let Logits { logits } = self.ask(&json!({"op": "logits", "ids": ids}))?;
        if logits.len() != want.len() {
            return Err(unavailable(
                &self.name,
                &format!("{} logits instead of {}", logits.len(), want.len()),
            ));
        }
        let errors: Vec<f64> = logits.iter().zip(want).map(|(got, want)| got - want).collect();
        let relative_rms =
            if errors.iter().all(|error| *error == 0.0) { 0.0 } else { rms(&errors) / rms(want) };
        Ok(PeerCheck { arm: self.name.clone(), prompt: ids.len(), relative_rms, allowed: ALLOWED_RMS })
    }

    fn ask<T: DeserializeOwned>(&mut self, request: &serde_json::Value) -> Result<T, Refusal> {
        let refuse = |e: &dyn std::fmt::Display| unavailable(&self.name, e);
        let requests = self.requests.as_mut().ok_or_else(|| refuse(&"it was closed"))?;
        match writeln!(requests, "{request}").and_then(|()| requests.flush()) {
            // It has ended; what it said last is still to be read.
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => {}
            written => written.map_err(|e| refuse(&e))?,
        }
        let mut line = String::new();
        if self.replies.read_line(&mut line).map_err(|e| refuse(&e))? == 0 {
            return Err(refuse(&"it ended without an answer; its own messages are above"));
        }
        let reply: serde_json::Value = serde_json::from_str(&line).map_err(|e| refuse(&e))?;
        if let Some(reason) = reply.get("refused") {
            return Err(refuse(&reason.as_str().map_or_else(|| reason.to_string(), str::to_owned)));
        }
        serde_json::from_value(reply).map_err(|e| refuse(&e))
    }
}

fn unavailable(name: &str, got: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(Code::PeerUnavailable, name, "an engine that runs this", got)
}

impl Runner for Peer {
    fn run(&mut self, workload: &Workload) -> Result<Run, Refusal> {
        let Workload { depth, prompt, steps, given, ids, .. } = workload;
        let ran: Ran = self.ask(&json!({
            "op": "run", "depth": depth, "prompt": prompt, "steps": steps, "given": given, "ids": ids,
        }))?;
        let time = |ns: Option<u64>| ns.map(Duration::from_nanos);
        Ok(Run { prompt: time(ran.prompt_ns), decode: time(ran.decode_ns), ids: ran.ids })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Closing its input ends it; one that is gone already needs no more.
        drop(self.requests.take());
        let _ = self.child.wait();
    }
}
