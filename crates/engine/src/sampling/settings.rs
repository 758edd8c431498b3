//! What is asked about sampling, and what results.

use std::collections::BTreeMap;
use std::fmt;

/// What a caller asks. `None` takes the checkpoint's `generation_config.json`, and where that is silent the
/// engine's default ([`SamplingSet::default`]).
///
/// Numbers are wide on purpose: a value out of range is refused with all others (`sampling_invalid`), not wrapped.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampling {
    /// Divides the logits. 0 and below: greedy. Finite.
    pub temperature: Option<f64>,
    /// Keep the k most likely. 0: all. Not negative.
    pub top_k: Option<i64>,
    /// Keep the smallest set of most likely tokens whose probabilities sum to at least this. In (0, 1]; 1: all.
    pub top_p: Option<f64>,
    /// Keep tokens at least this likely relative to the most likely. In [0, 1); 0: all.
    pub min_p: Option<f64>,
    /// Divides positive and multiplies negative logits of ids seen lately in prompt or reply. In [0.1, 10]; 1: off.
    pub repetition_penalty: Option<f64>,
    /// How many of the latest ids count as lately. 0: none; -1: all.
    pub repeat_last_n: Option<i64>,
    /// Subtracted once from the logit of every id of the reply. In [-2, 2].
    pub presence_penalty: Option<f64>,
    /// Subtracted from the logit of an id for each time it is in the reply. In [-2, 2].
    pub frequency_penalty: Option<f64>,
    /// Added to logits of single ids. Each in [-100, 100].
    pub logit_bias: BTreeMap<u32, f64>,
    /// Key of the random draws. `None`: a fresh one, reported in [`SamplingSet`].
    pub seed: Option<u64>,
}

/// Who set a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The request.
    Request,
    /// The checkpoint's `generation_config.json`.
    Checkpoint,
    /// The engine's default.
    Engine,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Request => "request",
            Self::Checkpoint => "generation_config",
            Self::Engine => "default",
        })
    }
}

/// A value and who set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Who set it.
    pub origin: Origin,
}

impl<T> Setting<T> {
    /// The engine's default `value`.
    pub fn default_of(value: T) -> Self {
        Self { value, origin: Origin::Engine }
    }
}

/// The settings in effect, all valid, each with who set it. Printed by front ends before generating.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each field is documented by the field of `Sampling` of the same name")]
pub struct SamplingSet {
    pub temperature: Setting<f64>,
    pub top_k: Setting<usize>,
    pub top_p: Setting<f64>,
    pub min_p: Setting<f64>,
    pub repetition_penalty: Setting<f64>,
    /// `None`: all.
    pub repeat_last_n: Setting<Option<usize>>,
    pub presence_penalty: Setting<f64>,
    pub frequency_penalty: Setting<f64>,
    pub logit_bias: BTreeMap<u32, f64>,
    pub seed: Setting<u64>,
}

impl Default for SamplingSet {
    /// Greedy, nothing penalized, a repetition window of 64 for requests that ask for that penalty, seed 0.
    fn default() -> Self {
        Self {
            temperature: Setting::default_of(0.0),
            top_k: Setting::default_of(0),
            top_p: Setting::default_of(1.0),
            min_p: Setting::default_of(0.0),
            repetition_penalty: Setting::default_of(1.0),
            repeat_last_n: Setting::default_of(Some(64)),
            presence_penalty: Setting::default_of(0.0),
            frequency_penalty: Setting::default_of(0.0),
            logit_bias: BTreeMap::new(),
            seed: Setting::default_of(0),
        }
    }
}

impl SamplingSet {
    /// Whether the most likely token is always taken, so that the seed has no effect.
    pub fn is_greedy(&self) -> bool {
        self.temperature.value <= 0.0 || self.top_k.value == 1
    }
}
