//! A checkpoint: configuration, weights and the texts beside them, checked against each other.
//!
//! Opening reads the small files whole, maps the weight files and believes nothing a file says about another
//! before it has been compared with it. Weights are neither read nor copied: [`Tensor`] is a view of the mapping,
//! and a device converts tensor by tensor. The one exception is a tied checkpoint that stores a head as well,
//! which is compared with the embedding.

mod digest;
pub(crate) mod embedded;
pub(crate) mod folder;
mod header;
mod layout;
mod pair;
mod raw;
pub(crate) mod shards;
pub(crate) mod survey;
pub(crate) mod texts;
mod tiling;
mod weights;

use std::borrow::Cow;
use std::path::Path;

use crate::json::Object;
use crate::{Code, Config, GenerationConfig, Parameters, Refusal, StopSet, Tensor, fixed_arm, json};
use folder::Folder;
use survey::Survey;

pub use digest::Digest;
pub use embedded::{HAS_EMBEDDED_MODEL, embedded_files};
pub(crate) use raw::Bytes;
pub use shards::{INDEX as SHARD_INDEX, shards_of_index};
pub(crate) use survey::GENERATION_CONFIG;
pub use texts::TemplateSource;
pub(crate) use tiling::{Claim, check_tiling};
pub(crate) use weights::{Entry, WeightFile, Weights};

/// The file of the configuration.
pub(crate) const CONFIG: &str = "config.json";

/// An opened checkpoint. Owns the mapped bytes; `Send` and `Sync`.
#[derive(Debug)]
pub struct Checkpoint {
    config: Config,
    config_text: Option<Vec<u8>>,
    weights: Weights,
    placed: Parameters<usize>,
    texts: texts::Texts,
    generation: GenerationConfig,
    generation_text: Option<Vec<u8>>,
    stops: StopSet,
    prompt_ids: Option<Vec<u32>>,
}

impl Checkpoint {
    /// Opens a directory: the published form (`config.json` and safetensors), the converted one (`manifest.json` and
    /// `weights.blob`), or a GGUF file; or such a file by its own path, of a split one any part.
    ///
    /// # Errors
    /// A named refusal; see `docs/refusals.md`, 700 to 729. [`inspect`](fn@crate::inspect) tells all of them at once.
    pub fn open(path: &Path) -> Result<Self, Refusal> {
        Self::read(&Folder::at(path)?)
    }

    /// Opens files held in memory, by name.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_files(
        files: impl IntoIterator<Item = (String, Cow<'static, [u8]>)>,
    ) -> Result<Self, Refusal> {
        Self::read(&Folder::Memory(files.into_iter().collect()))
    }

    fn read(folder: &Folder) -> Result<Self, Refusal> {
        let survey = Survey::of(folder);
        if let Some(first) = survey.refusals.into_iter().next() {
            return Err(first);
        }
        let (Some(config), Some(weights), Some((placed, stored_head))) =
            (survey.config, survey.weights, survey.placed)
        else {
            let place = folder.place("");
            return Err(Refusal::new(Code::CheckpointNotFound, "folder", "a checkpoint", "none").at(place));
        };
        let checkpoint = Self {
            config,
            config_text: survey.config_text,
            weights,
            placed,
            texts: survey.texts,
            generation: survey.generation,
            generation_text: survey.generation_text,
            stops: survey.stops,
            prompt_ids: survey.prompt_ids,
        };
        if let Some(head) = stored_head {
            checkpoint.check_tied(head).map_err(|r| r.at(folder.place("")))?;
        }
        Ok(checkpoint)
    }

    /// A tied head that is stored all the same must be the embedding, byte for byte; it is not used.
    fn check_tied(&self, head: usize) -> Result<(), Refusal> {
        let (head, embedding) = (self.weights.tensor(head), self.parameters().embedding);
        if head.stored == embedding.stored && head.bytes == embedding.bytes {
            return Ok(());
        }
        let unequal = head.bytes.iter().zip(embedding.bytes).position(|(a, b)| a != b).unwrap_or(0);
        let row = unequal / head.stored.bytes(head.row_len()).max(1);
        let got = format!("{}, first different in row {row}", head.stored);
        let expected = format!("{}, equal to {}", embedding.stored, embedding.name);
        Err(Refusal::new(Code::TiedHeadDiffers, head.name, expected, got))
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Every parameter by its role.
    pub fn parameters(&self) -> Parameters<Tensor<'_>> {
        self.placed.map(|_, &index| self.weights.tensor(index))
    }

    /// Every stored tensor, sorted by name.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = Tensor<'_>> {
        (0..self.weights.entries.len()).map(|index| self.weights.tensor(index))
    }

    /// Tells the system that `bytes` of a tensor are not needed for now, so that a mapped file does not count as
    /// memory in use after it has been converted. They stay readable.
    pub fn release(&self, bytes: &[u8]) {
        for file in &self.weights.files {
            file.bytes.release(bytes);
        }
    }

    /// The text of `tokenizer.json`, if there is one.
    pub fn tokenizer_json(&self) -> Option<&[u8]> {
        self.texts.tokenizer_json.as_deref()
    }

    /// `tokenizer_config.json`, if there is one.
    pub fn tokenizer_config(&self) -> Option<&serde_json::Value> {
        self.texts.tokenizer_config.as_ref()
    }

    /// The chat template and where it was found, if there is one.
    pub fn chat_template(&self) -> Option<(&str, TemplateSource)> {
        self.texts.template.as_ref().map(|(text, source)| (text.as_str(), *source))
    }

    /// How the publisher means the model to be sampled.
    pub fn generation_config(&self) -> &GenerationConfig {
        &self.generation
    }

    /// `config.json` as it is, where there is one.
    pub(crate) fn config_text(&self) -> Option<&[u8]> {
        self.config_text.as_deref()
    }

    /// `generation_config.json` as it is, where there is one.
    pub(crate) fn generation_text(&self) -> Option<&[u8]> {
        self.generation_text.as_deref()
    }

    /// The ids that end a reply, with who names them.
    pub fn stop_set(&self) -> &StopSet {
        &self.stops
    }

    /// The prompt folded into a converted checkpoint.
    pub fn prompt_ids(&self) -> Option<&[u32]> {
        self.prompt_ids.as_deref()
    }

    /// The gate of the fixed entry point `qwen3_i8_allsimd7`: exactly Qwen3-0.6B-Base, with every fact stated.
    ///
    /// # Errors
    /// `fixed_shape_mismatch` naming every field that differs or is not stated.
    pub fn check_fixed_shape(&self) -> Result<(), Refusal> {
        match &self.config_text {
            Some(text) => fixed_arm::check_stated(&json::object(text).unwrap_or_else(|_| Object::new())),
            None => fixed_arm::check(&self.config),
        }
    }
}
