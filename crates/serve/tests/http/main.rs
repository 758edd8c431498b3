//! The server over the story model, asked as clients ask.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]
#![allow(clippy::print_stdout, reason = "a skipped test says why")]

mod client;
#[path = "../../examples/host/device.rs"]
mod device;

mod chat;
mod completions;
mod docs;
mod embeddings;
mod guarded;
mod libraries;
mod load;
mod openapi;
mod refused;
mod spoilt;
mod streaming;
mod structured;
mod text;
mod together;
