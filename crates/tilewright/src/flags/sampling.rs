//! How tokens are chosen.

use clap::Args;
use tilewright_engine::Sampling;

/// Flags about sampling. Where one is absent the model's generation_config.json decides, then the engine.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Sampling")]
pub(crate) struct SamplingFlags {
    /// Temperature; 0 always takes the most likely token [default: the model's]
    #[arg(long, value_name = "T")]
    pub temp: Option<f64>,

    /// Keep the K most likely tokens; 0 keeps all [default: the model's]
    #[arg(long, value_name = "K")]
    pub top_k: Option<i64>,

    /// Keep the most likely tokens that together reach probability P; 1 keeps all [default: the model's]
    #[arg(long, value_name = "P")]
    pub top_p: Option<f64>,

    /// Keep tokens at least P times as likely as the most likely one; 0 keeps all [default: the model's]
    #[arg(long, value_name = "P")]
    pub min_p: Option<f64>,

    /// Weaken tokens seen lately in prompt or reply by this factor; 1 is off [default: the model's]
    #[arg(long, value_name = "X")]
    pub repeat_penalty: Option<f64>,

    /// How many of the latest tokens count as seen lately; 0 none, -1 all [default: 64]
    #[arg(long, value_name = "N")]
    pub repeat_last_n: Option<i64>,

    /// Subtract X from the logit of every token that is in the reply; 0 is off
    #[arg(long, value_name = "X")]
    pub presence_penalty: Option<f64>,

    /// Subtract X from the logit of a token for each time it is in the reply; 0 is off
    #[arg(long, value_name = "X")]
    pub frequency_penalty: Option<f64>,

    /// Add V to the logit of token ID (repeat for several)
    #[arg(long, value_name = "ID=V", value_parser = parse_bias)]
    pub logit_bias: Vec<(u32, f64)>,

    /// Key of the random draws; the one chosen is printed [default: a fresh one]
    #[arg(short, long, value_name = "N")]
    pub seed: Option<u64>,
}

impl SamplingFlags {
    /// Resolves the flags. A token biased twice gets the last value, as with any repeated flag.
    pub(crate) fn resolve(self) -> Sampling {
        Sampling {
            temperature: self.temp,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            repetition_penalty: self.repeat_penalty,
            repeat_last_n: self.repeat_last_n,
            presence_penalty: self.presence_penalty,
            frequency_penalty: self.frequency_penalty,
            logit_bias: self.logit_bias.into_iter().collect(),
            seed: self.seed,
        }
    }
}

fn parse_bias(text: &str) -> Result<(u32, f64), String> {
    let parts = text.split_once('=').and_then(|(id, v)| Some((id.parse().ok()?, v.parse().ok()?)));
    parts.ok_or_else(|| format!("`{text}` is not a token id, `=` and a number"))
}

#[cfg(test)]
mod tests;
