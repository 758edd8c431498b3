//! What was resolved, in words for a person and in JSON for a machine.

use serde_json::{Value, json};
use tilewright_engine::Plan;
use tilewright_engine::sampling::{SamplingSet, Setting};
use tilewright_model::{Config, GenerationConfig, StopId, StopSet, Tokenizer};

use crate::console::bytes;

/// The shape of a model.
pub(crate) fn config(config: &Config) -> String {
    format!(
        "{:?}, {} layers, hidden {}, {} query and {} KV heads of {}, vocabulary {}",
        config.family,
        config.layers,
        config.hidden,
        config.heads,
        config.kv_heads,
        config.head_dim,
        config.vocab,
    )
}

/// A plan on one line.
pub(crate) fn plan(plan: &Plan) -> String {
    format!(
        "{} {}, weights {} ({}, {} a token), KV {} ({} a position), context {}, prefill chunk {}, {} threads",
        plan.device,
        plan.kernels,
        plan.weights,
        bytes(plan.weight_bytes),
        bytes(plan.bytes_per_token),
        plan.kv,
        bytes(plan.kv_bytes_per_position),
        plan.context,
        plan.prefill_chunk,
        plan.threads,
    )
}

/// A stop set on one line: each id, its text where there is a tokenizer, and who names it.
pub(crate) fn stop_set(set: &StopSet, tokenizer: Option<&Tokenizer>) -> String {
    if set.entries().is_empty() {
        return "no id ends a reply".to_owned();
    }
    let entry = |stop: &StopId| {
        let text = token_text(stop.id, tokenizer).map_or(String::new(), |text| format!(" {text}"));
        format!("{}{text} ({})", stop.id, sources(stop).join(", "))
    };
    set.entries().iter().map(entry).collect::<Vec<_>>().join(", ")
}

/// A stop set for machines.
pub(crate) fn stop_set_json(set: &StopSet, tokenizer: Option<&Tokenizer>) -> Value {
    let entry =
        |stop: &StopId| json!({"id": stop.id, "text": token_text(stop.id, tokenizer), "from": sources(stop)});
    set.entries().iter().map(entry).collect()
}

fn sources(stop: &StopId) -> Vec<String> {
    stop.sources.iter().map(ToString::to_string).collect()
}

fn token_text(id: u32, tokenizer: Option<&Tokenizer>) -> Option<String> {
    tokenizer?.decode(&[id], false).ok()
}

/// What a checkpoint says about sampling.
pub(crate) fn generation(config: &GenerationConfig) -> String {
    let mut parts = Vec::new();
    if config.do_sample == Some(false) {
        parts.push("greedy".to_owned());
    }
    let numbers = [
        ("temp", config.temperature),
        ("top-p", config.top_p),
        ("min-p", config.min_p),
        ("repeat penalty", config.repetition_penalty),
        ("top-k", config.top_k.map(|k| k as f64)),
    ];
    parts.extend(numbers.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?))));
    parts.extend(config.stop_strings.iter().map(|text| format!("stop at {text:?}")));
    match (config.present, parts.is_empty()) {
        (false, _) => "no generation_config.json".to_owned(),
        (true, true) => "generation_config.json says nothing".to_owned(),
        (true, false) => parts.join(", "),
    }
}

/// The sampling in effect on one line, each value that is not off with who set it.
pub(crate) fn sampling(set: &SamplingSet) -> String {
    let mut parts = Vec::new();
    if set.is_greedy() {
        parts.push(format!("greedy ({})", set.temperature.origin));
    } else {
        parts.push(format!("temp {}", value(&set.temperature)));
        let filters: [(&str, Option<String>); 3] = [
            ("top-k", (set.top_k.value > 0).then(|| value(&set.top_k))),
            ("top-p", (set.top_p.value < 1.0).then(|| value(&set.top_p))),
            ("min-p", (set.min_p.value > 0.0).then(|| value(&set.min_p))),
        ];
        parts.extend(filters.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?))));
    }
    if active(set.repetition_penalty.value, 1.0) {
        let window = set.repeat_last_n.value.map_or("all".to_owned(), |n| n.to_string());
        parts.push(format!("repeat penalty {} over {window}", value(&set.repetition_penalty)));
    }
    if active(set.presence_penalty.value, 0.0) {
        parts.push(format!("presence penalty {}", value(&set.presence_penalty)));
    }
    if active(set.frequency_penalty.value, 0.0) {
        parts.push(format!("frequency penalty {}", value(&set.frequency_penalty)));
    }
    if !set.logit_bias.is_empty() {
        parts.push(format!("logit bias on {} tokens", set.logit_bias.len()));
    }
    if !set.is_greedy() {
        parts.push(format!("seed {}", value(&set.seed)));
    }
    let idle = set.without_effect();
    if !idle.is_empty() {
        parts.push(format!("without effect: {}", idle.join(" ")));
    }
    parts.join(", ")
}

/// The sampling in effect for machines: each value and who set it.
pub(crate) fn sampling_json(set: &SamplingSet) -> Value {
    fn pair<T: Copy + Into<Value>>(setting: &Setting<T>) -> Value {
        json!({"value": setting.value.into(), "from": setting.origin.to_string()})
    }
    let bias: serde_json::Map<String, Value> =
        set.logit_bias.iter().map(|(id, v)| (id.to_string(), json!(v))).collect();
    json!({
        "greedy": set.is_greedy(),
        "temperature": pair(&set.temperature),
        "top_k": pair(&set.top_k),
        "top_p": pair(&set.top_p),
        "min_p": pair(&set.min_p),
        "repetition_penalty": pair(&set.repetition_penalty),
        "repeat_last_n": {
            "value": set.repeat_last_n.value.map_or(json!(-1), |n| json!(n)),
            "from": set.repeat_last_n.origin.to_string(),
        },
        "presence_penalty": pair(&set.presence_penalty),
        "frequency_penalty": pair(&set.frequency_penalty),
        "logit_bias": bias,
        "seed": pair(&set.seed),
        "without_effect": set.without_effect(),
    })
}

fn value<T: std::fmt::Display>(setting: &Setting<T>) -> String {
    format!("{} ({})", setting.value, setting.origin)
}

/// Whether a setting differs from the value that switches it off.
fn active(value: f64, neutral: f64) -> bool {
    (value - neutral).abs() > 0.0
}
