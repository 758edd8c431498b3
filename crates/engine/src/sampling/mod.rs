//! From logits to a token.
//!
//! The order is fixed: repetition, presence and frequency penalties, logit bias, temperature, top-k, min-p, top-p,
//! weighted draw. `docs/sampling.md` states each formula. Everything here is pure: the same logits, settings, seed
//! and step give the same token, whatever else the engine does.

mod settings;

pub use settings::{Origin, Sampling, SamplingSet, Setting};
