//! The model inside the program: `models/stories-qwen3`, whole. Without the feature `embedded-model` there is none, and
//! opening it is refused as a folder with nothing in it is.

use std::borrow::Cow;

use super::Checkpoint;
use super::folder::Folder;
use crate::Refusal;

#[cfg(feature = "embedded-model")]
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$((
            $name,
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/stories-qwen3/", $name)).as_slice(),
        )),*]
    };
}

/// Whether a model is part of this build.
pub const HAS_EMBEDDED_MODEL: bool = cfg!(feature = "embedded-model");

/// Bytes carry no alignment, which [`Tensor`](crate::Tensor) does not need.
#[cfg(feature = "embedded-model")]
const FILES: &[(&str, &[u8])] = files![
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
];

#[cfg(not(feature = "embedded-model"))]
const FILES: &[(&str, &[u8])] = &[];

impl Checkpoint {
    /// The small Qwen3-architecture model that is part of the program.
    ///
    /// # Errors
    /// As [`open`](Self::open): none for the files as published, `checkpoint_not_found` in a build without them.
    pub fn embedded() -> Result<Self, Refusal> {
        Self::read(&folder())
    }
}

/// The files of the embedded model, by name; none in a build without them.
pub fn embedded_files() -> &'static [(&'static str, &'static [u8])] {
    FILES
}

/// The files of the embedded model.
pub(crate) fn folder() -> Folder {
    let files = FILES.iter().map(|(name, bytes)| ((*name).to_owned(), Cow::Borrowed(*bytes)));
    Folder::Memory(files.collect())
}
