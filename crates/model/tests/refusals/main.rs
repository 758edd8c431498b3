//! One test a reason to refuse a checkpoint, each with a single cause, and the page that lists the reasons.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

mod build;
mod config;
mod corpus;
mod files;
mod generation;
mod gguf;
mod index;
mod manifest;
mod page;
mod published;
mod rope;
mod safetensors;
mod tensors;
mod texts;
