//! Prompt in, tokens out: the public Rust API.
//!
//! An [`Engine`] holds one model resident on one device. A [`Request`] names a prompt (as ids), how to sample and
//! when to stop; the engine answers with a [`Generation`], an iterator of [`Event`]s in which one call of `next`
//! does one unit of work (a chunk of the prompt, or one token). Dropping it frees everything it held. For many replies
//! at once a [`Scheduler`] gives a [`Session`] each and serves them all in one sweep over the weights.
//!
//! ```
//! use tilewright_engine::{Engine, OpenOptions, Request, Sampling, Source};
//!
//! # fn main() -> Result<(), tilewright_engine::Refusal> {
//! let engine = Engine::open(Source::Embedded, &OpenOptions::default(), &mut |_| ())?;
//! let request = Request {
//!     max_tokens: Some(8),
//!     sampling: Sampling { temperature: Some(0.0), ..Sampling::default() },
//!     ..Request::new(engine.encode("Once upon a time")?)
//! };
//! let reply = engine.generate(request)?.reply()?;
//! assert_eq!(reply.text, ", there was a little girl named Elara");
//! # Ok(())
//! # }
//! ```
//!
//! More in `crates/engine/examples`: text as it comes, chat, sampling, scores.
//!
//! What is deliberately absent: HTTP, command lines, files other than the checkpoint and, where a
//! [`Cache`] is asked for, its packed weights, and any printing.

mod cache;
mod calls;
mod conversation;
mod device;
mod draft;
mod embedding;
mod engine;
mod entry_point;
mod event;
#[cfg(test)]
mod fake;
mod generation;
mod gpu;
mod grammar;
mod lease;
mod logits;
mod open;
mod opening;
mod reasoning;
mod reply;
mod request;
pub mod sampling;
mod scheduler;
mod score;
mod staged;
mod stopping;
mod text;

pub use cache::{Cache, user_cache_folder};
pub use calls::{CALL_CLOSE, CALL_OPEN, Call, CallParser};
pub use conversation::Conversation;
pub use device::DeviceChoice;
pub use embedding::{Embedding, Pooling};
pub use engine::{Engine, EngineParts};
pub use entry_point::EntryCall;
pub use event::{Alternative, Done, Event, FinishReason, Logprobs, Stop, Timings, Token, Usage};
pub use generation::Generation;
pub use grammar::{Constraint, Grammar};
pub use logits::Positions;
pub use open::{DeviceRequest, OpenOptions, Source};
pub use opening::{open_resident, resolve_plan};
pub use reasoning::{Parts, ReasoningSplitter};
pub use reply::Reply;
pub use request::{MAX_ALTERNATIVES, Request};
pub use sampling::Sampling;
pub use scheduler::{Load, MAX_SEQUENCES, Scheduler, SchedulerOptions, Session};
pub use score::{Score, ScoreOptions};
pub use tilewright_backend::execution::{Attention, Gemm};
pub use tilewright_backend::{Cancel, DeviceKind, Kernels, KvFormat, Plan, Progress, Resident, Stage};
pub use tilewright_model::{
    ChatRole, ChatTemplate, Code, Config, Finding, GenerationConfig, Message, Prompt, Refusal, RenderArgs,
    Specials, StopSet, Tokenizer, WeightFormat,
};

/// The examples of docs/rust.md, which the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
mod page {}
