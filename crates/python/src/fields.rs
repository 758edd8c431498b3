//! What the Python half hands over: objects whose attributes are read by name and type.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use pyo3::prelude::*;
use tilewright_engine::{Cache, Cancel, Code, Finding, OpenOptions, Refusal, RenderArgs, Request, Sampling};

use crate::value::from_python;

/// `tilewright.SamplingParams`.
#[derive(Clone, FromPyObject)]
pub(crate) struct Params {
    max_tokens: Option<i64>,
    min_tokens: i64,
    temperature: Option<f64>,
    top_k: Option<i64>,
    top_p: Option<f64>,
    min_p: Option<f64>,
    repetition_penalty: Option<f64>,
    repeat_last_n: Option<i64>,
    presence_penalty: Option<f64>,
    frequency_penalty: Option<f64>,
    logit_bias: BTreeMap<u32, f64>,
    seed: Option<u64>,
    stop: Vec<String>,
    stop_token_ids: Vec<u32>,
    ignore_eos: bool,
    include_stop_str_in_output: bool,
    skip_special_tokens: bool,
    logprobs: Option<i64>,
}

impl Params {
    /// What they ask of the engine. A text to be continued keeps the space at its end.
    ///
    /// # Errors
    /// `request_invalid` for counts that are none.
    pub(crate) fn request(
        self,
        prompt: Vec<u32>,
        cancel: &Cancel,
        continuation: bool,
    ) -> Result<Request, Refusal> {
        let mut findings = Vec::new();
        let mut count = |what: &str, value: i64| -> usize {
            usize::try_from(value).unwrap_or_else(|_| {
                findings.push(Finding::new(what, "0 or more", value));
                0
            })
        };
        let max_tokens = self.max_tokens.map(|n| count("max_tokens", n));
        let min_tokens = count("min_tokens", self.min_tokens);
        let logprobs = self.logprobs.map(|n| u8::try_from(count("logprobs", n)).unwrap_or(u8::MAX));
        Refusal::check(Code::RequestInvalid, findings)?;
        Ok(Request {
            prompt,
            max_tokens,
            min_tokens,
            sampling: Sampling {
                temperature: self.temperature,
                top_k: self.top_k,
                top_p: self.top_p,
                min_p: self.min_p,
                repetition_penalty: self.repetition_penalty,
                repeat_last_n: self.repeat_last_n,
                presence_penalty: self.presence_penalty,
                frequency_penalty: self.frequency_penalty,
                logit_bias: self.logit_bias,
                seed: self.seed,
            },
            stop: self.stop,
            stop_ids: self.stop_token_ids,
            ignore_eos: self.ignore_eos,
            include_stop: self.include_stop_str_in_output,
            show_special: !self.skip_special_tokens,
            continuation,
            logprobs,
            grammar: None,
            cancel: cancel.clone(),
        })
    }
}

/// How a model is opened.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    device: String,
    weights: Option<String>,
    kv: Option<String>,
    numerics: Option<String>,
    threads: Option<usize>,
    context: Option<usize>,
    prefill_chunk: Option<usize>,
    attention: Option<String>,
    gemm: Option<String>,
    cache: bool,
    cache_folder: Option<PathBuf>,
}

impl Options {
    /// What they ask of the engine.
    ///
    /// # Errors
    /// `device_option_invalid` with every word that is none.
    pub(crate) fn resolve(self) -> Result<OpenOptions, Refusal> {
        let mut findings = Vec::new();
        let options = OpenOptions {
            needs_text: false,
            device: named("device", Some(&self.device), &mut findings).unwrap_or_default(),
            weights: named("weights", self.weights.as_deref(), &mut findings),
            kv: named("kv", self.kv.as_deref(), &mut findings),
            numerics: named("numerics", self.numerics.as_deref(), &mut findings),
            threads: self.threads,
            context: self.context,
            prefill_chunk: self.prefill_chunk,
            attention: named("attention", self.attention.as_deref(), &mut findings),
            gemm: named("gemm", self.gemm.as_deref(), &mut findings),
            cache: match (self.cache, self.cache_folder) {
                (false, _) => Cache::Off,
                (true, None) => Cache::User,
                (true, Some(folder)) => Cache::Folder(folder),
            },
            cancel: Cancel::default(),
        };
        Refusal::check(Code::DeviceOptionInvalid, findings)?;
        Ok(options)
    }
}

/// A value by its name.
fn named<T: FromStr<Err: Display>>(what: &str, name: Option<&str>, findings: &mut Vec<Finding>) -> Option<T> {
    let name = name?;
    name.parse()
        .map_err(|error: T::Err| findings.push(Finding::new(what, "a name that is known", error)))
        .ok()
}

/// How a conversation is rendered.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Rendering<'py> {
    add_generation_prompt: bool,
    continue_final_message: bool,
    enable_thinking: Option<bool>,
    tools: Bound<'py, PyAny>,
    extra: Bound<'py, PyAny>,
}

impl Rendering<'_> {
    /// What it asks of the template.
    pub(crate) fn resolve(self) -> PyResult<RenderArgs> {
        let tools = from_python(&self.tools)?;
        let extra = from_python(&self.extra)?;
        Ok(RenderArgs {
            add_generation_prompt: self.add_generation_prompt,
            continue_final_message: self.continue_final_message,
            enable_thinking: self.enable_thinking,
            tools: tools.as_array().cloned().unwrap_or_default(),
            extra: extra.as_object().cloned().unwrap_or_default(),
            now: None,
        })
    }
}
