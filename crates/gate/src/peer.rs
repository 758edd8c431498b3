//! Another engine in a process of its own, spoken to in JSON, one object a line each way.
//!
//! | we say | it says |
//! | --- | --- |
//! | `{"op": "open", "model": DIR, "work": DIR, "device": D, "weights": W, "kv": K, "threads": N, "context": N}` | `{"version": V, "precision": P, "remarks": [...]}` |
//! | `{"op": "logits", "ids": [...]}` | `{"logits": [...]}` after the last id |
//! | `{"op": "run", "depth": N, "prompt": N, "steps": N, "given": B, "ids": [[...]]}` | `{"prompt_ns": N or null, "decode_ns": N or null, "ids": [[...]]}` |
//!
//! Instead of any answer it may say `{"refused": REASON}`. It ends with its input. [`Workload`] says what a run is.

mod adapter;
mod process;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tilewright_model::Refusal;

use crate::arm::{Run, Runner};
use crate::report::{PeerCheck, Workload, rms};

pub(crate) use adapter::script;
pub use adapter::{PeerChoice, model_folder};
pub(crate) use process::Process;

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
    /// Our device: `cpu`, `cuda:0`, `metal`.
    pub device: &'a str,
    /// Our format of weights.
    pub weights: &'a str,
    /// Our format of keys and values.
    pub kv: &'a str,
    /// Threads.
    pub threads: usize,
    /// Positions of a sequence.
    pub context: usize,
    /// The most sequences that run at once.
    pub sequences: usize,
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
    process: Process,
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
    pub fn start(name: &str, command: Command, opening: Opening<'_>) -> Result<Self, Refusal> {
        let mut process = Process::start(name, command)?;
        let Opening { model, work, device, weights, kv, threads, context, sequences: _ } = opening;
        let Opened { version, precision, remarks } = process.ask(&json!({
            "op": "open", "model": model, "work": work, "device": device, "weights": weights, "kv": kv,
            "threads": threads, "context": context,
        }))?;
        Ok(Self { name: name.to_owned(), version, precision, remarks, process })
    }

    /// Compares its logits after `ids` with the reference's, `want`.
    ///
    /// # Errors
    /// `peer_unavailable` when it gives none or another number of them.
    pub fn check(&mut self, ids: &[u32], want: &[f64]) -> Result<PeerCheck, Refusal> {
        let Logits { logits } = self.process.ask(&json!({"op": "logits", "ids": ids}))?;
        if logits.len() != want.len() {
            let got = format!("{} logits instead of {}", logits.len(), want.len());
            return Err(self.process.unavailable(&got));
        }
        let errors: Vec<f64> = logits.iter().zip(want).map(|(got, want)| got - want).collect();
        let relative_rms =
            if errors.iter().all(|error| *error == 0.0) { 0.0 } else { rms(&errors) / rms(want) };
        Ok(PeerCheck { arm: self.name.clone(), prompt: ids.len(), relative_rms, allowed: ALLOWED_RMS })
    }
}

impl Runner for Peer {
    fn run(&mut self, workload: &Workload) -> Result<Run, Refusal> {
        let Workload { depth, prompt, steps, given, ids, .. } = workload;
        let ran: Ran = self.process.ask(&json!({
            "op": "run", "depth": depth, "prompt": prompt, "steps": steps, "given": given, "ids": ids,
        }))?;
        let time = |ns: Option<u64>| ns.map(Duration::from_nanos);
        Ok(Run { prompt: time(ran.prompt_ns), decode: time(ran.decode_ns), ids: ran.ids })
    }
}
