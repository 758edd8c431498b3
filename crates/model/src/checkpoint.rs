//! A checkpoint: configuration, weights and the texts beside them, checked against each other.
//!
//! Opening reads the small files whole, maps the weight files and believes nothing a file says about another
//! before it has been compared with it. Weights are neither read nor copied: [`Tensor`] is a view of the mapping,
//! and a device converts tensor by tensor. The one exception is a tied checkpoint that stores a head as well,
//! which is compared with the embedding.

#[cfg(feature = "embedded-model")]
mod embedded;
mod folder;
mod header;
mod layout;
mod raw;
mod shards;
mod tiling;
mod weights;

use std::path::Path;

use crate::{Code, Config, Parameters, Refusal, Tensor, config};
use folder::Folder;
pub(crate) use tiling::{Claim, check_tiling};
use weights::Weights;

/// The file of the configuration.
const CONFIG: &str = "config.json";

/// An opened checkpoint. Owns the mapped bytes; `Send` and `Sync`.
#[derive(Debug)]
pub struct Checkpoint {
    config: Config,
    weights: Weights,
    placed: Parameters<usize>,
    tokenizer_json: Option<std::borrow::Cow<'static, [u8]>>,
}

impl Checkpoint {
    /// Opens a Hugging Face directory.
    ///
    /// # Errors
    /// A named refusal with every mismatch; see `docs/refusals.md`, 700 to 729.
    pub fn open(path: &Path) -> Result<Self, Refusal> {
        Self::read(&Folder::at(path)?)
    }

    fn read(folder: &Folder) -> Result<Self, Refusal> {
        let Some(text) = folder.text(CONFIG)? else {
            return Err(Refusal::new(Code::CheckpointNotFound, CONFIG, "a file", "none").at(folder.place("")));
        };
        let config = config::read(&text).map_err(|r| r.at(folder.place(CONFIG)))?;
        let weights = shards::open(folder, &folder.files()?)?;
        let (placed, stored_head) =
            layout::place(&config, &weights.entries).map_err(|r| r.at(folder.place("")))?;
        let checkpoint = Self { config, weights, placed, tokenizer_json: folder.text("tokenizer.json")? };
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
        let row = unequal / (head.row_len() * head.stored.size()).max(1);
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

    /// The text of `tokenizer.json`, if there is one.
    pub fn tokenizer_json(&self) -> Option<&[u8]> {
        self.tokenizer_json.as_deref()
    }
}
