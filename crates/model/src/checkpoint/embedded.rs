//! The model inside the program: `models/stories-qwen3`, whole.

use std::borrow::Cow;

use super::Checkpoint;
use super::folder::Folder;
use crate::Refusal;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$((
            $name,
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/stories-qwen3/", $name)).as_slice(),
        )),*]
    };
}

/// Bytes carry no alignment, which [`Tensor`](crate::Tensor) does not need.
const FILES: &[(&str, &[u8])] = files![
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
];

impl Checkpoint {
    /// The small Qwen3-architecture model that is part of the program.
    ///
    /// # Errors
    /// As [`open`](Self::open); none for the files as published.
    pub fn embedded() -> Result<Self, Refusal> {
        Self::read(&folder())
    }
}

/// The files of the embedded model.
pub(crate) fn folder() -> Folder {
    let files = FILES.iter().map(|(name, bytes)| ((*name).to_owned(), Cow::Borrowed(*bytes)));
    Folder::Memory(files.collect())
}
