//! What is on disk, and what it means.
//!
//! A checkpoint is a closed-schema [`Config`], named tensors, a tokenizer and a chat template. This crate reads
//! all of them, refuses what the engine cannot honour ([`Refusal`]), and gives the float64 reference forward that
//! every device is compared with. It knows no device and no network.

mod checkpoint;
mod config;
pub mod convert;
mod dtype;
mod fields;
pub mod fixed_arm;
#[doc(hidden)]
pub mod fuzz;
mod generation;
mod gguf;
mod hub;
mod inspect;
pub mod json;
pub mod manifest;
mod parameters;
pub mod reference;
mod refusal;
mod rope;
mod schema;
mod stop;
mod template;
mod tensor;
mod tokenizer;
pub mod tolerance;

pub use checkpoint::{
    Checkpoint, Digest, HAS_EMBEDDED_MODEL, SHARD_INDEX, TemplateSource, embedded_files, shards_of_index,
};
pub use config::{Config, Family};
pub use dtype::{StoredType, WeightFormat};
pub use generation::GenerationConfig;
pub use gguf::are_parts_of_one;
pub use hub::{HubName, find_model, hub_cache_folder, hub_home_folder};
pub use inspect::{Inspection, inspect};
pub use parameters::{LayerParameters, Parameters, Role};
pub use refusal::{Code, Finding, Refusal, Shown};
pub use rope::{Rope, RopeScaling};
pub use stop::{StopId, StopSet, StopSource};
pub use template::{ChatRole, ChatTemplate, Message, Prompt, RenderArgs};
pub use tensor::{Block, Tensor};
pub use tokenizer::{NamedTokens, Specials, TextStream, Tokenizer};
