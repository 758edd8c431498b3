//! The model's kernels, written in the tile-kernel language, and the pipelines that order them.
//!
//! A kernel is a Rust function from a [`Shape`] to a [`tile::Kernel`](tilewright_tile::Kernel): it names its views and
//! scratch, then reads like the mathematics. Every kernel stands in the [`catalogue`], which is what printers, golden
//! files and tests walk over. A pipeline is a function to a [`tile::Pipeline`](tilewright_tile::Pipeline): the launches
//! of one step with what each reads and writes, so that order and dispatch budget follow from it.
//!
//! # Memory that kernels share
//!
//! Tensors are row-major. Matrices are `[out, in]`. Names of parameters, and of resources in pipelines:
//!
//! | name | shape | contents |
//! | --- | --- | --- |
//! | `layers` | `[layers]` of [`LayerPack`] | the weights of the decoder layers, each at its place in the pack |
//! | `embedding`, `head` | `[vocab, hidden]` | token embedding and output matrix; one buffer when tied |
//! | `keys`, `values` | `[layers, sequences, kv_heads, capacity, head_dim]` | the cache, keys after norm and rotation |
//! | `rotary` | `[capacity, head_dim / 2, 2]` f32 | cosine and sine of every position and pair |
//! | `control` | `[sequences, 2]` i32 | decode: token and position; prefill: first position and valid rows |
//! | `logits` | `[sequences, vocab]` | logits |
//!
//! Rotary pairs are half-split: element `i` of a head turns with element `i + head_dim / 2`.

pub mod attention;
pub mod catalogue;
pub mod decode;
pub mod format;
pub mod formats;
pub mod host;
pub mod layout;
pub mod lossless;
pub mod parts;
pub mod prefill;
pub mod shape;
mod verified;

pub use catalogue::{Entry, PipelineEntry, Variant};
pub use format::Format;
pub use formats::{Formats, LayerFormats};
pub use layout::{LayerPack, ModelPack, Slot, Tensor};
pub use shape::Shape;
