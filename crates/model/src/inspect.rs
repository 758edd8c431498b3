//! What a checkpoint is, and everything that speaks against it, without reading weights.
//!
//! Headers, configuration and texts are read as for opening, but nothing stops at a refusal. Two things need the
//! weights and are found only later: a stored tied head that differs (at opening) and weights that are not finite
//! (when a tensor is converted).

use std::path::Path;

use serde::Serialize;

use crate::checkpoint::folder::{Folder, FolderFile};
use crate::checkpoint::survey::{GENERATION_CONFIG, Survey};
use crate::checkpoint::{CONFIG, shards, texts};
use crate::manifest::{BLOB, MANIFEST};
use crate::{Config, GenerationConfig, Refusal, StopSet, StoredType, TemplateSource};

/// Everything about a checkpoint but its weights.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// The files of the folder, by name.
    pub files: Vec<InspectedFile>,
    /// The configuration, unless it was refused.
    pub config: Option<Config>,
    /// Parameters the model computes with; a head that is the embedding counts once. `None` when the tensors do not
    /// fit the configuration.
    pub parameters: Option<u64>,
    /// The stored tensors, by name, unless the files were refused.
    pub tensors: Vec<InspectedTensor>,
    /// Where the chat template was found.
    pub template: Option<TemplateSource>,
    /// How the publisher means the model to be sampled.
    pub generation: GenerationConfig,
    /// The ids that end a reply, with who names them.
    pub stop_set: StopSet,
    /// Length of the prompt folded into a converted checkpoint.
    pub prompt_tokens: Option<usize>,
    /// Every refusal found, in the order opening would meet them.
    pub refusals: Vec<Refusal>,
}

/// A file and what it is to the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InspectedFile {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// What it is used for.
    pub role: FileRole,
}

/// What a file is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileRole {
    /// Configuration, or the manifest that stands for it.
    Config,
    /// Weights.
    Weights,
    /// Which shard holds which tensor.
    Index,
    /// Tokenizer or its settings.
    Tokenizer,
    /// Chat template.
    Template,
    /// Sampling settings.
    Generation,
    /// Nothing: not read.
    Unused,
}

/// A stored tensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InspectedTensor {
    /// The name the file gives it.
    pub name: String,
    /// Type of an element.
    pub stored: StoredType,
    /// Logical shape, `[out, in]` for a matrix.
    pub shape: Vec<usize>,
    /// Bytes it takes in the file.
    pub bytes: u64,
    /// The file it is in.
    pub file: String,
}

/// Looks at the checkpoint in the directory `path`.
pub fn inspect(path: &Path) -> Inspection {
    match Folder::at(path) {
        Ok(folder) => Inspection::of(&folder),
        Err(refusal) => Survey { refusals: vec![refusal], ..Survey::default() }.into(),
    }
}

impl Inspection {
    /// Looks at the model inside the program.
    pub fn embedded() -> Self {
        Self::of(&crate::checkpoint::embedded::folder())
    }

    fn of(folder: &Folder) -> Self {
        Survey::of(folder).into()
    }

    /// Bytes of all stored tensors.
    pub fn weight_bytes(&self) -> u64 {
        self.tensors.iter().map(|t| t.bytes).sum()
    }
}

impl From<Survey> for Inspection {
    fn from(survey: Survey) -> Self {
        let entries = survey.weights.as_ref().map_or(&[][..], |weights| &weights.entries);
        let elements =
            |index: usize| entries.get(index).map_or(0, |e| e.shape.iter().product::<usize>() as u64);
        let parameters = survey.placed.as_ref().map(|(placed, _)| {
            let mut sum = 0;
            placed.map(|_, &index| sum += elements(index));
            sum
        });
        let weight_files = survey.weights.as_ref().map_or(&[][..], |weights| &weights.files);
        let tensors = entries.iter().map(|e| InspectedTensor {
            name: e.name.clone(),
            stored: e.stored,
            shape: e.shape.clone(),
            bytes: e.range.len() as u64,
            file: weight_files.get(e.file).map_or_else(String::new, |file| file.name.clone()),
        });
        let is_weights = |name: &str| weight_files.iter().any(|file| file.name == name);
        Self {
            tensors: tensors.collect(),
            files: survey.files.iter().map(|file| inspect_file(file, is_weights(&file.name))).collect(),
            config: survey.config,
            parameters,
            template: survey.texts.template.map(|(_, source)| source),
            generation: survey.generation,
            stop_set: survey.stops,
            prompt_tokens: survey.prompt_ids.map(|ids| ids.len()),
            refusals: survey.refusals,
        }
    }
}

fn inspect_file(file: &FolderFile, is_weights: bool) -> InspectedFile {
    let role = match file.name.as_str() {
        _ if is_weights => FileRole::Weights,
        CONFIG | MANIFEST => FileRole::Config,
        BLOB => FileRole::Weights,
        shards::INDEX => FileRole::Index,
        texts::TOKENIZER | texts::TOKENIZER_CONFIG => FileRole::Tokenizer,
        texts::JINJA | texts::JSON => FileRole::Template,
        GENERATION_CONFIG => FileRole::Generation,
        _ => FileRole::Unused,
    };
    InspectedFile { name: file.name.clone(), bytes: file.bytes, role }
}
