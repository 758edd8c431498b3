//! The built program from outside: exit codes, streams, JSON, signals.

#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod batch;
mod bench;
mod cache;
mod chat;
mod completions;
mod convert;
mod doctor;
mod harness;
mod inspect;
mod kernels;
mod perplexity;
#[cfg(feature = "pull")]
mod pull;
mod refusals;
mod run;
mod run_json;
mod runtime;
#[cfg(unix)]
mod serve;
mod shim;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod terminal;
mod usage;
