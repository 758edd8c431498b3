//! When a reply ends.

use clap::Args;
use tilewright_engine::{Cancel, Request, Sampling};

/// Flags about the end of a reply.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Stopping")]
pub(crate) struct StoppingFlags {
    /// Tokens to generate at most [default: until the model stops or the context is full]
    #[arg(short = 'n', long, value_name = "N")]
    pub max_tokens: Option<usize>,

    /// Tokens before which nothing stops the reply
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub min_tokens: usize,

    /// Text that ends the reply and is not printed (repeat for several)
    #[arg(long, value_name = "TEXT")]
    pub stop: Vec<String>,

    /// Token that ends the reply, besides the model's own (repeat for several)
    #[arg(long, value_name = "ID")]
    pub stop_id: Vec<u32>,

    /// Go on past the model's own end tokens
    #[arg(long)]
    pub ignore_eos: bool,
}

/// What the flags mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    /// Tokens to generate at most.
    pub max_tokens: Option<usize>,
    /// Tokens before which nothing stops the reply.
    pub min_tokens: usize,
    /// Strings that end the reply.
    pub stop: Vec<String>,
    /// Ids that end the reply.
    pub stop_ids: Vec<u32>,
    /// Whether the model's own stop set is ignored.
    pub ignore_eos: bool,
}

impl StoppingFlags {
    /// Resolves the flags.
    pub(crate) fn resolve(self) -> Limits {
        Limits {
            max_tokens: self.max_tokens,
            min_tokens: self.min_tokens,
            stop: self.stop,
            stop_ids: self.stop_id,
            ignore_eos: self.ignore_eos,
        }
    }
}

impl Limits {
    /// The request for a reply to `prompt` within these limits.
    pub(crate) fn request(&self, prompt: Vec<u32>, sampling: Sampling, cancel: Cancel) -> Request {
        Request {
            max_tokens: self.max_tokens,
            min_tokens: self.min_tokens,
            sampling,
            stop: self.stop.clone(),
            stop_ids: self.stop_ids.clone(),
            ignore_eos: self.ignore_eos,
            cancel,
            ..Request::new(prompt)
        }
    }
}
