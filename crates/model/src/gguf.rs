//! GGUF files, versions 2 and 3: header, metadata and tensors of one file or of the parts of a split one.
//!
//! A file is magic, version and two counts, then the metadata (keys with typed values), then what is said of each tensor,
//! then, aligned, the data. [`header`] reads that and checks every size before it is used; [`config`] and [`texts`] put
//! the metadata into the words of a published checkpoint, so that everything behind them is the same for both.
//!
//! A GGUF file is whole: nothing beside it is read.

pub(crate) mod config;
pub(crate) mod cursor;
pub(crate) mod header;
pub(crate) mod metadata;
pub(crate) mod names;
pub(crate) mod open;
pub(crate) mod pre;
mod sentencepiece;
pub(crate) mod texts;
pub(crate) mod write;

pub use open::belong_together as are_parts_of_one;

#[cfg(test)]
mod tests;
