//! A float64 forward in a process of its own.
//!
//! | we say | it says |
//! | --- | --- |
//! | `{"op": "open", "model": DIR}` | `{"version": V, "where": W}` |
//! | `{"op": "extend", "sequence": N, "ids": [...], "rows": N}` | `{"logits": N, "keys": N}`, then as many little-endian float64: logits of the last rows; for each layer and KV head the keys of the new positions, then their values |
//! | `{"op": "drop", "sequence": N}` | `{}` |
//!
//! Instead of any answer it may say `{"refused": REASON}`.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::json;
use tilewright_model::{Config, Refusal};

use super::{Oracle, REMEDY, Truth};
use crate::peer::{Process, script};

/// The reference that is asked for: our own, or `torch=PYTHON` with the Python that has torch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ReferenceChoice {
    /// Our own forward.
    #[default]
    Own,
    /// One in torch.
    Torch(PathBuf),
}

impl FromStr for ReferenceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=').unwrap_or((text, "")) {
            ("own", "") => Ok(Self::Own),
            ("torch", "") => Ok(Self::Torch("python3".into())),
            ("torch", python) => Ok(Self::Torch(python.into())),
            _ => Err(format!("`{text}` is neither own nor torch")),
        }
    }
}

impl fmt::Display for ReferenceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own => "own",
            Self::Torch(_) => "torch",
        })
    }
}

/// A running one.
pub struct Remote {
    /// Name and version.
    pub version: String,
    /// What it runs on.
    pub place: String,
    layers: usize,
    heads: usize,
    width: usize,
    vocab: usize,
    process: RefCell<Process>,
    next: Cell<u64>,
}

#[derive(Deserialize)]
struct Opened {
    version: String,
    #[serde(rename = "where")]
    place: String,
}

#[derive(Deserialize)]
struct Sizes {
    logits: usize,
    keys: usize,
}

impl Remote {
    /// Starts the forward in torch, by this Python, on the checkpoint in `model`; its script goes to `work`.
    ///
    /// # Errors
    /// `peer_unavailable`, `file_unwritable`.
    pub fn torch(python: &Path, model: &Path, work: &Path, config: &Config) -> Result<Self, Refusal> {
        let mut command = Command::new(python);
        command.arg("-B").arg(script(work, "torch_reference.py")?);
        Self::start(command, model, config)
    }

    /// Starts `command` and opens the model in it.
    ///
    /// # Errors
    /// `peer_unavailable` with what it said.
    pub fn start(command: Command, model: &Path, config: &Config) -> Result<Self, Refusal> {
        let open = || -> Result<(Process, Opened), Refusal> {
            let mut process = Process::start("the reference", command)?;
            let opened = process.ask(&json!({"op": "open", "model": model}))?;
            Ok((process, opened))
        };
        let (process, Opened { version, place }) = open().map_err(|refusal| refusal.with_remedy(REMEDY))?;
        Ok(Self {
            version,
            place,
            layers: config.layers,
            heads: config.kv_heads,
            width: config.head_dim,
            vocab: config.vocab,
            process: RefCell::new(process),
            next: Cell::new(0),
        })
    }
}

impl Oracle for Remote {
    fn sequence(&self) -> Box<dyn Truth + '_> {
        let name = self.next.replace(self.next.get() + 1);
        let kv = vec![(Vec::new(), Vec::new()); self.layers * self.heads];
        Box::new(Sequence { remote: self, name, kv })
    }
}

/// A sequence there, with its keys and values here.
struct Sequence<'a> {
    remote: &'a Remote,
    name: u64,
    kv: Vec<(Vec<f64>, Vec<f64>)>,
}

impl Sequence<'_> {
    /// Appends `ids` there and fetches their keys and values.
    fn fetch(&mut self, ids: &[u32], rows: usize) -> Result<Vec<f64>, Refusal> {
        let mut process = self.remote.process.borrow_mut();
        let request = json!({"op": "extend", "sequence": self.name, "ids": ids, "rows": rows});
        let Sizes { logits, keys } = process.ask(&request)?;
        let each = ids.len() * self.remote.width;
        if keys != each * self.kv.len() {
            let due = each * self.kv.len();
            return Err(process.unavailable(&format!("{keys} keys instead of {due}")));
        }
        let due = rows.min(ids.len()) * self.remote.vocab;
        if logits != due {
            return Err(process.unavailable(&format!("{logits} logits instead of {due}")));
        }
        let logits = process.numbers(logits)?;
        for (keys, values) in &mut self.kv {
            keys.extend(process.numbers(each)?);
            values.extend(process.numbers(each)?);
        }
        Ok(logits)
    }
}

impl Truth for Sequence<'_> {
    fn extend(&mut self, ids: &[u32], rows: usize) -> Result<Vec<f64>, Refusal> {
        self.fetch(ids, rows).map_err(|refusal| refusal.with_remedy(REMEDY))
    }

    fn kv(&self, layer: usize, head: usize) -> (&[f64], &[f64]) {
        let (keys, values) = &self.kv[layer * self.remote.heads + head];
        (keys, values)
    }
}

impl Drop for Sequence<'_> {
    fn drop(&mut self) {
        // One that does not answer any more says so at the next question.
        let request = json!({"op": "drop", "sequence": self.name});
        let _: Result<serde_json::Value, Refusal> = self.remote.process.borrow_mut().ask(&request);
    }
}
