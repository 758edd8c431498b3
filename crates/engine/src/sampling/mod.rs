//! From logits to a token.
//!
//! The order is fixed: repetition penalty, presence and frequency penalties, logit bias, ban (ids without a token,
//! stop ids before `min_tokens`), temperature, top-k, min-p, top-p, weighted draw. `docs/sampling.md` states each
//! formula. Everything here is pure: the same logits, settings, seed and step give the same token, whatever else
//! the engine does.

mod draw;
mod exp;
mod filter;
mod logprobs;
mod penalties;
mod philox;
mod resolve;
mod sampler;
mod scan;
mod settings;
mod tokens;

pub use resolve::SamplingDefaults;
pub use sampler::Sampler;
pub use scan::argmax;
pub use settings::{Origin, Sampling, SamplingSet, Setting};
pub use tokens::Tokens;

pub(crate) use logprobs::{log_sum_exp, logprobs};
pub(crate) use scan::check_finite;
