//! HTTP: OpenAI-compatible endpoints over an [`Engine`](tilewright_engine::Engine).
//!
//! A [`Server`] listens before its model is loaded and says so (`503`); [`Server::ready`] hands it the model. Every reply is
//! a session of one [`Scheduler`](tilewright_engine::Scheduler), so requests share sweeps over the weights, and a client
//! that goes away frees its sequence within a step. `docs/server.md` has the endpoints and fields.
//!
//! Nothing is ignored silently: a field that is not known is refused by name, and every error has OpenAI's shape with the
//! refusal's name as `code`.

mod app;
mod body;
mod chat;
mod choice;
mod completions;
mod connections;
mod embeddings;
mod error;
mod hosts;
mod keywords;
mod libraries;
mod metrics;
mod openapi;
mod params;
mod plain;
mod replies;
mod router;
mod server;
mod stream;
mod structured;
mod text;
mod tools;

pub use app::ServeOptions;
pub use server::Server;
