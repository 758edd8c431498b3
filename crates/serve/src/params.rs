//! Fields that chat and plain completions share.

use std::collections::BTreeMap;

use serde_json::Value;
use tilewright_engine::{Code, Refusal, Request, Sampling};

use crate::app::App;
use crate::body::{Fields, brief};

/// Choices that one request may ask for.
const MOST_CHOICES: usize = 32;

/// Stop strings that one request may name.
const MOST_STOPS: usize = 16;

/// Fields of OpenAI's that say something about bookkeeping at their side.
pub(crate) const HARMLESS: &[&str] = &[
    "user",
    "metadata",
    "store",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
];

/// What they say.
#[derive(Debug)]
pub(crate) struct Params {
    /// Everything but the prompt.
    pub(crate) request: Request,
    /// Choices of each prompt.
    pub(crate) n: usize,
    /// Whether the reply comes as a stream; then, whether it ends with its usage.
    pub(crate) stream: Option<bool>,
}

impl Params {
    pub(crate) fn read(fields: &mut Fields) -> Self {
        fields.harmless(HARMLESS);
        let request = Request {
            max_tokens: max_tokens(fields),
            min_tokens: fields.count("min_tokens").unwrap_or(0),
            sampling: Sampling {
                temperature: not_negative(fields),
                top_k: fields.integer("top_k"),
                top_p: fields.number("top_p"),
                min_p: fields.number("min_p"),
                repetition_penalty: fields.number("repetition_penalty"),
                repeat_last_n: fields.integer("repeat_last_n"),
                presence_penalty: fields.number("presence_penalty"),
                frequency_penalty: fields.number("frequency_penalty"),
                logit_bias: logit_bias(fields),
                seed: fields.integer("seed").map(i64::cast_unsigned),
            },
            stop: stop(fields),
            stop_ids: fields.ids("stop_token_ids").unwrap_or_default(),
            ignore_eos: fields.flag("ignore_eos").unwrap_or(false),
            include_stop: fields.flag("include_stop_str_in_output").unwrap_or(false),
            ..Request::default()
        };
        let n = fields.count("n").unwrap_or(1);
        if !(1..=MOST_CHOICES).contains(&n) {
            fields.refuse("n", &format!("1 to {MOST_CHOICES}"), n);
        }
        Self { request, n, stream: stream(fields) }
    }

    /// The requests for each choice of a prompt. A seed that is given is that of the first choice; the next ones count up, so
    /// that choices differ and repeat.
    pub(crate) fn choices(&self, prompt: &[u32]) -> impl Iterator<Item = Request> {
        (0..self.n as u64).map(|choice| {
            let seed = self.request.sampling.seed.map(|seed| seed.wrapping_add(choice));
            let sampling = Sampling { seed, ..self.request.sampling.clone() };
            Request { prompt: prompt.to_vec(), sampling, ..self.request.clone() }
        })
    }
}

/// Refuses another model than the one served.
///
/// # Errors
/// `model_not_found`.
pub(crate) fn check_model(app: &App, fields: &mut Fields) -> Result<(), Refusal> {
    match fields.text("model") {
        Some(name) if name != app.options.name => {
            Err(Refusal::new(Code::ModelNotFound, "model", &app.options.name, name))
        }
        _ => Ok(()),
    }
}

fn not_negative(fields: &mut Fields) -> Option<f64> {
    let temperature = fields.number("temperature");
    if temperature.is_some_and(|t| t < 0.0) {
        fields.refuse("temperature", "0 (greedy) or more", temperature.unwrap_or_default());
    }
    temperature
}

fn max_tokens(fields: &mut Fields) -> Option<usize> {
    let (old, new) = (fields.count("max_tokens"), fields.count("max_completion_tokens"));
    if let (Some(old), Some(new)) = (old, new)
        && old != new
    {
        fields.refuse("max_completion_tokens", &format!("the same as max_tokens ({old})"), new);
    }
    new.or(old)
}

fn stop(fields: &mut Fields) -> Vec<String> {
    let expected = format!("a string or a list of at most {MOST_STOPS}");
    match fields.take("stop") {
        None => Vec::new(),
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(list)) if list.len() <= MOST_STOPS && list.iter().all(Value::is_string) => {
            list.iter().filter_map(|stop| stop.as_str().map(str::to_owned)).collect()
        }
        Some(other) => {
            fields.refuse("stop", &expected, brief(&other));
            Vec::new()
        }
    }
}

fn logit_bias(fields: &mut Fields) -> BTreeMap<u32, f64> {
    let Some(value) = fields.take("logit_bias") else { return BTreeMap::new() };
    let read = |map: &serde_json::Map<String, Value>| {
        map.iter()
            .map(|(id, bias)| Some((id.parse().ok()?, bias.as_f64()?)))
            .collect::<Option<BTreeMap<_, _>>>()
    };
    value.as_object().and_then(read).unwrap_or_else(|| {
        fields.refuse("logit_bias", "an object of token ids and numbers", brief(&value));
        BTreeMap::new()
    })
}

fn stream(fields: &mut Fields) -> Option<bool> {
    let stream = fields.flag("stream").unwrap_or(false);
    let mut usage = false;
    if let Some(mut options) = fields.object("stream_options") {
        usage = options.flag("include_usage").unwrap_or(false);
        // Padding against traffic analysis is for connections that leave the machine.
        options.harmless(&["include_obfuscation"]);
        fields.absorb(options);
        if !stream {
            fields.refuse("stream_options", "nothing without stream", "something");
        }
    }
    stream.then_some(usage)
}
