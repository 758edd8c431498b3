//! Where, by what, of what and how.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Workload;

/// The machine, without its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// A short name of its kind, as in folders of reports: `linux-x86_64-avx2-2cpu`.
    pub class: String,
    /// Operating system and, where it is known, the kernel's release.
    pub system: String,
    /// The processor's own name.
    pub processor: String,
    /// The instruction set used.
    pub features: String,
    /// Cores the process may use.
    pub cores: usize,
    /// Bytes of memory, where the system says.
    pub memory: Option<u64>,
    /// The frequency governor, where there is one.
    pub governor: Option<String>,
    /// The GPU, where one is used.
    pub gpu: Option<Gpu>,
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Its name and why it was chosen.
    pub name: String,
    /// The driver's version, where it is known.
    pub driver: Option<String>,
}

/// The program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Software {
    /// Version of this program.
    pub version: String,
    /// Whether it is built with optimisation.
    pub optimised: bool,
}

/// The model's shape; what it weighs follows from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFacts {
    /// What it is called: the embedded model, a preset's name, or a folder's last part.
    pub name: String,
    /// `qwen3`, `llama`, ...
    pub family: String,
    /// How it is stored.
    pub stored: String,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Layers.
    pub layers: usize,
    /// Query heads.
    pub heads: usize,
    /// KV heads.
    pub kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Width of the SwiGLU product.
    pub intermediate: usize,
    /// Vocabulary.
    pub vocab: usize,
    /// Whether the head is the embedding.
    pub tied: bool,
}

impl ModelFacts {
    /// Elements of the matrices that one token is multiplied with, the head included.
    pub fn matrix_elements(&self) -> u64 {
        (self.layers * self.layer_elements() + self.vocab * self.hidden) as u64
    }

    /// Elements of one layer's matrices.
    fn layer_elements(&self) -> usize {
        let (q, kv) = (self.heads * self.head_dim, self.kv_heads * self.head_dim);
        self.hidden * (2 * q + 2 * kv + 3 * self.intermediate)
    }

    /// Operations of a workload's timed part, two to a multiply-add: every layer for every token, the head for those
    /// whose logits are asked for, and attention.
    pub fn operations(&self, workload: &Workload) -> [f64; 2] {
        let attention = |from: usize, count: usize| {
            let seen: usize = (from + 1..=from + count).sum();
            4 * self.layers * self.heads * self.head_dim * seen
        };
        let token = 2 * self.layers * self.layer_elements();
        let head = 2 * self.vocab * self.hidden;
        let sequences = workload.ids.len();
        let prompt = workload.prompt * token + head + attention(workload.depth, workload.prompt);
        let start = workload.depth + workload.prompt;
        let decode = workload.steps * (token + head) + attention(start, workload.steps);
        [(sequences * prompt) as f64, (sequences * decode) as f64]
    }
}

/// In what numbers the model runs, and how far it may be from the reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Precision {
    /// All of the next four in one line.
    pub label: String,
    /// Format of every matrix.
    pub weights: String,
    /// What a row is in when it meets a matrix.
    pub activations: String,
    /// Format of keys and values.
    pub kv: String,
    /// What sums are in.
    pub sums: String,
    /// Bytes of the weights.
    pub weight_bytes: u64,
    /// Bytes read for a token.
    pub bytes_per_token: u64,
    /// Bytes of keys and values for a position.
    pub kv_bytes_per_position: u64,
    /// The row of the table of tolerances.
    pub tolerance: String,
    /// Its allowed share.
    pub rtol: f64,
    /// Its allowed error.
    pub atol: f64,
    /// Whether errors are in units of the wanted values' root mean square.
    pub scaled: bool,
}

impl Precision {
    /// The one line.
    pub fn label_of(weights: &str, activations: &str, kv: &str, sums: &str) -> String {
        format!("weights {weights}, activations {activations}, keys and values {kv}, sums {sums}")
    }
}

/// How it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// The device: `cpu`, `cuda:0`, ...
    pub device: String,
    /// The kernels chosen.
    pub kernels: String,
    /// Worker threads of every arm.
    pub threads: usize,
    /// Rounds: in each, every arm runs once, in an order that changes from round to round.
    pub trials: usize,
    /// Runs of each arm before them, checked but not counted.
    pub warmups: usize,
    /// Draws of a bootstrap interval.
    pub resamples: u64,
    /// Their seed.
    pub seed: u64,
    /// What a time includes.
    pub includes: Vec<String>,
    /// What it does not.
    pub excludes: Vec<String>,
    /// What the numbers are not.
    pub remarks: Vec<String>,
}

/// Who takes part in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// What is measured.
    Candidate,
    /// The same once more, to see what a difference of nothing looks like.
    Control,
    /// Another engine.
    Peer,
}

/// An engine that took part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Its name in this report.
    pub name: String,
    /// Its part.
    pub part: Part,
    /// Name and version.
    pub version: String,
    /// In what numbers it holds weights, keys and values.
    pub precision: String,
    /// What else there is to say of how it runs.
    pub remarks: Vec<String>,
}

/// An engine that did not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absent {
    /// Which.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// SHA-256 by name: `binary`, `sources`, `checkpoint/config.json`, ...
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprints {
    /// Before anything was run.
    pub before: BTreeMap<String, String>,
    /// When all was done.
    pub after: BTreeMap<String, String>,
}

/// How fast the machine's clocks were and how warm it was at a moment, as far as it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    /// Of the processor, the mean over its cores.
    pub processor_mhz: Option<f64>,
    /// Of the GPU's multiprocessors, where one is used.
    pub gpu_mhz: Option<f64>,
    /// The GPU's temperature.
    pub gpu_celsius: Option<f64>,
}

/// Limits of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ceilings {
    /// Bytes read from memory in a second.
    pub read: f64,
    /// f32 operations in a second, two to a fused multiply-add.
    pub fma: f64,
}
