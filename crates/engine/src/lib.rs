//! Prompt in, tokens out: the public Rust API.
//!
//! An `Engine` holds one model resident on one device. A [`Request`] names a prompt (as ids), how to sample and
//! when to stop; the engine answers with a `Generation`, an iterator of [`Event`]s in which one call of `next`
//! does one unit of work (a chunk of the prompt, or one token). Dropping it frees everything it held.
//!
//! What is deliberately absent: HTTP, command lines, files other than the checkpoint, and any printing.

mod event;
mod open;
mod reasoning;
mod request;
pub mod sampling;
mod stopping;

pub use event::{Alternative, Done, Event, FinishReason, Logprobs, Stop, Timings, Token, Usage};
pub use open::{DeviceRequest, OpenOptions, Source};
pub use reasoning::{Parts, ReasoningSplitter};
pub use request::Request;
pub use sampling::Sampling;
pub use tilewright_backend::{Cancel, KvFormat, Plan, Progress, Stage};
pub use tilewright_model::{Code, Finding, Refusal};
