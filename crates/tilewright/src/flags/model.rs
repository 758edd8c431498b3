//! Which model, where and how it runs.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tilewright_backend::{KvFormat, Numerics};
use tilewright_engine::{Attention, Cache, DeviceRequest, Gemm, OpenOptions, Source};
use tilewright_model::{WeightFormat, find_model};

/// Flags about the model and the device.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Model and device")]
pub(crate) struct ModelFlags {
    /// Checkpoint directory, GGUF file, org/name or org/name:file in the cache of Hugging Face [default: the small story model inside the program]
    #[arg(short, long, value_name = "DIR")]
    pub model: Option<PathBuf>,

    /// Device: auto, cpu, cuda, cuda:N, metal or (for developers) shim. No other device is used in its place
    #[arg(long, value_name = "DEVICE", default_value_t)]
    pub device: DeviceRequest,

    /// Format in which every matrix is held [default: as stored, when that loses nothing]
    #[arg(long, value_name = "FORMAT", value_parser = weight_formats())]
    pub weights: Option<WeightFormat>,

    /// Element type of the KV cache [default: chosen by the device]
    #[arg(long, value_name = "TYPE", value_parser = kv_formats())]
    pub kv_dtype: Option<KvFormat>,

    /// Positions for prompt and reply together [default, and 0: the model's, as far as memory allows]
    #[arg(short, long, value_name = "N")]
    pub ctx: Option<usize>,

    /// Prompt tokens taken in one step [default: chosen by the device]
    #[arg(long, value_name = "N")]
    pub prefill_chunk: Option<NonZeroUsize>,

    /// Whose rounding and order of sums; others than native on the device cpu, for the bits of llama.cpp's logits over the same GGUF
    /// file, without or with flash attention [default: native]
    #[arg(long, value_name = "WHOSE", value_parser = named::<Numerics>(Numerics::ALL, Numerics::name))]
    pub numerics: Option<Numerics>,

    /// Attention of a prompt, on the devices metal and shim [default: by the model's heads]
    #[arg(long, value_name = "PATH", value_parser = named::<Attention>(Attention::ALL, Attention::name))]
    pub attention: Option<Attention>,

    /// Tier of the products of a prompt, on the devices metal and shim [default: msl_parity]
    #[arg(long, value_name = "TIER", value_parser = named::<Gemm>(Gemm::ALL, Gemm::name))]
    pub gemm: Option<Gemm>,

    /// Worker threads [default: one for each core]
    #[arg(short, long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// Folder that keeps int8 and int4 weights for the next start [default: the user's cache folder, for models that
    /// take seconds to quantise]
    #[arg(long, value_name = "DIR")]
    pub cache: Option<PathBuf>,

    /// Keep no quantised weights and read none
    #[arg(long, conflicts_with = "cache")]
    pub no_cache: bool,
}

/// What the flags mean.
#[derive(Clone, Debug)]
pub(crate) struct ModelChoice {
    /// Where the model comes from.
    pub source: Source,
    /// How it is opened.
    pub options: OpenOptions,
}

impl ModelChoice {
    /// With the need of a tokenizer, where there is one.
    pub(crate) fn reading(mut self, text: bool) -> Self {
        self.options.needs_text = text;
        self
    }
}

impl ModelFlags {
    /// Resolves the flags.
    pub(crate) fn resolve(self) -> ModelChoice {
        ModelChoice {
            source: self.model.map_or(Source::Embedded, |model| Source::Path(find_model(&model))),
            options: OpenOptions {
                device: self.device,
                weights: self.weights,
                kv: self.kv_dtype,
                numerics: self.numerics,
                threads: self.threads.map(NonZeroUsize::get),
                attention: self.attention,
                gemm: self.gemm,
                context: self.ctx.filter(|positions| *positions > 0),
                prefill_chunk: self.prefill_chunk.map(NonZeroUsize::get),
                cache: match self.cache {
                    _ if self.no_cache => Cache::Off,
                    Some(folder) => Cache::Folder(folder),
                    None => Cache::User,
                },
                ..OpenOptions::default()
            },
        }
    }
}

fn weight_formats() -> impl TypedValueParser<Value = WeightFormat> {
    PossibleValuesParser::new(WeightFormat::ALL.map(WeightFormat::name))
        .try_map(|name| name.parse::<WeightFormat>())
}

/// The values of a choice by their names.
fn named<T>(all: &'static [T], name: fn(T) -> &'static str) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = String> + Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(all.iter().map(|value| name(*value))).try_map(|name| name.parse::<T>())
}

fn kv_formats() -> impl TypedValueParser<Value = KvFormat> {
    PossibleValuesParser::new(KvFormat::ALL.map(KvFormat::name)).try_map(|name| name.parse::<KvFormat>())
}

#[cfg(test)]
mod tests;
