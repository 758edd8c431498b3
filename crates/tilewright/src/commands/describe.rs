//! What was resolved, in words for a person and in JSON for a machine.

use tilewright_model::{Config, GenerationConfig, StopId, StopSet, Tokenizer};

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
