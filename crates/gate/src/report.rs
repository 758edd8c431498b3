//! What a benchmark leaves: facts, checks, and either every raw trial or why there is none.
//!
//! A report that failed has no place for a time: its outcome is a [`Failure`], which holds errors. Every type refuses
//! fields it does not know, so that nothing can be slipped in either. [`audit`](mod@crate::audit) computes everything again.

mod check;
mod device;
mod facts;
mod measured;
mod work;

use std::io::Write;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tilewright_backend::Packing;
use tilewright_model::{Code, Refusal};

pub use check::{CacheCheck, Check, Compared, OtherReference, PeerCheck};
pub(crate) use check::{greatest, rms};
pub use device::{DeviceCeilings, Products, Rate};
pub(crate) use device::{F32, per_second};
pub use facts::{
    Absent, Arm, Ceilings, Clocks, Fingerprints, Gpu, Machine, Method, ModelFacts, Part, Precision, Software,
};
pub use measured::{Comparison, Measured, Metric, Noise, Summary, Trial, Verdict};
pub use work::{Point, Workload, round_order};

/// The version of the form below. Reports of form 1, made up to November 2026, have no [`Report::replays`].
pub const SCHEMA: u32 = 2;

/// A report of one run of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// [`SCHEMA`] of the program that wrote it.
    pub schema: u32,
    /// What was asked: `bench`, `bench end-to-end`, ...
    pub program: String,
    /// When, in UTC: `2026-07-31T12:00:00Z`.
    pub created: String,
    /// Where.
    pub machine: Machine,
    /// By what.
    pub software: Software,
    /// Of what.
    pub model: ModelFacts,
    /// In which precision, and how far from the reference it may be.
    pub precision: Precision,
    /// What the device held packed without loss, of a device that does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packing: Option<Packing>,
    /// How.
    pub method: Method,
    /// Who took part: ours first.
    pub arms: Vec<Arm>,
    /// Who was asked for and could not.
    pub absent: Vec<Absent>,
    /// SHA-256 of what was measured, before and after.
    pub fingerprints: Fingerprints,
    /// What was run, in order.
    pub workloads: Vec<Workload>,
    /// What took the place of our own float64 forward as the reference, if something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<OtherReference>,
    /// What was compared with the reference before anything was timed.
    pub checks: Vec<Check>,
    /// The same after a prompt that was taken in once more as it is timed: whole, by one call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replays: Vec<Check>,
    /// How far the peers' logits are from the reference's, so that a peer that runs another model is noticed.
    pub peer_checks: Vec<PeerCheck>,
    /// Times, or why there are none.
    pub outcome: Outcome,
    /// SHA-256 of all of the above.
    pub seal: String,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything agreed.
    Passed(Passed),
    /// Something did not.
    Failed(Failure),
}

/// Everything that was timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passed {
    /// Load averages (1, 5, 15 minutes) before and after, where the system has them.
    pub load: Option<[[f64; 3]; 2]>,
    /// Clocks and temperature before anything was run, and right after the last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<[Clocks; 2]>,
    /// Limits of the processor, measured before and after, where it ran the model.
    pub ceilings: Vec<Ceilings>,
    /// The same of the GPU that ran it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub device_ceilings: Vec<DeviceCeilings>,
    /// One for each workload, in order.
    pub measured: Vec<Measured>,
    /// How the prefill chunk was chosen, where it was.
    pub selection: Option<Selection>,
}

impl Passed {
    /// Whether something else ran on a machine of so many cores: one waiting for each of them before the run, or twice as
    /// many and one more after it, when the run itself is part of the load.
    pub fn busy(load: Option<[[f64; 3]; 2]>, cores: usize) -> bool {
        let cores = cores as f64;
        load.is_some_and(|[before, after]| before[0] > cores || after[0] > 2.0 * cores + 1.0)
    }
}

/// The choice of a prefill chunk on a document of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// The workload of each candidate.
    pub workloads: Vec<String>,
    /// The chunk chosen: the least median time to the first token; of equals the smaller chunk.
    pub chunk: usize,
}

/// Why nothing was published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The workload.
    pub workload: String,
    /// When: `gate`, or `timing` for a run that gave other tokens.
    pub stage: String,
    /// What was wrong, with the errors observed.
    pub what: Vec<String>,
}

impl Report {
    /// The report with its numbers as they will be read from a file, under the seal that fits.
    ///
    /// # Errors
    /// `report_invalid` when a number in it cannot be written and read again.
    pub fn sealed(self) -> Result<Self, Refusal> {
        let mut settled = settled(self)?;
        settled.seal = settled.due_seal()?;
        Ok(settled)
    }

    /// SHA-256 over the report without its seal, as compact JSON.
    ///
    /// # Errors
    /// `report_invalid` when a number in it cannot be written.
    pub fn due_seal(&self) -> Result<String, Refusal> {
        let bare = Self { seal: String::new(), ..self.clone() };
        Ok(hex(&Sha256::digest(bare.json(false)?.as_bytes())))
    }

    /// The report as JSON, on one line or indented.
    ///
    /// # Errors
    /// `report_invalid` when a number in it cannot be written.
    pub fn json(&self, indented: bool) -> Result<String, Refusal> {
        let text = if indented { serde_json::to_string_pretty(self) } else { serde_json::to_string(self) };
        text.map_err(|e| Refusal::new(Code::ReportInvalid, "report", "finite numbers", e))
    }

    /// Reads the text of a report.
    ///
    /// # Errors
    /// `report_invalid`.
    pub fn from_json(text: &str) -> Result<Self, Refusal> {
        serde_json::from_str(text)
            .map_err(|e| Refusal::new(Code::ReportInvalid, "report", format!("schema {SCHEMA}"), e))
    }

    /// Writes it as a new file: a report is never written over.
    ///
    /// # Errors
    /// `output_exists`, `file_unwritable`.
    pub fn write_new(&self, path: &Path) -> Result<(), Refusal> {
        write_new(path, &self.json(true)?)
    }

    /// Everything timed; `None` in a report of a failure.
    pub fn passed(&self) -> Option<&Passed> {
        match &self.outcome {
            Outcome::Passed(passed) => Some(passed),
            Outcome::Failed(_) => None,
        }
    }

    /// The workload of this name.
    pub fn workload(&self, name: &str) -> Option<&Workload> {
        self.workloads.iter().find(|workload| workload.name == name)
    }
}

/// A value with its numbers as they will be read from a file: reading may lose a number's last bit, and one that was read
/// is mostly read again as it is.
pub(crate) fn settled<T: Serialize + DeserializeOwned + PartialEq>(mut value: T) -> Result<T, Refusal> {
    let invalid =
        |e: serde_json::Error| Refusal::new(Code::ReportInvalid, "report", "numbers that can be written", e);
    for _ in 0..16 {
        let again: T =
            serde_json::from_str(&serde_json::to_string(&value).map_err(invalid)?).map_err(invalid)?;
        if again == value {
            return Ok(value);
        }
        value = again;
    }
    Err(Refusal::new(Code::ReportInvalid, "report", "numbers that can be read as they are written", "others"))
}

/// Writes the text of a report as a new file.
///
/// # Errors
/// `output_exists`, `file_unwritable`.
pub fn write_new(path: &Path, text: &str) -> Result<(), Refusal> {
    let made = std::fs::File::create_new(path).and_then(|mut file| writeln!(file, "{text}"));
    let refuse = |code, expected, got| Err(Refusal::new(code, "report", expected, got).at(path.display()));
    match made {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            refuse(Code::OutputExists, "a new file", "one that is there".to_owned())
        }
        Err(e) => refuse(Code::FileUnwritable, "a writable file", e.to_string()),
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
