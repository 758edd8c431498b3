//! From metadata to the configuration, in the words of `config.json`, whose reader judges it.
//!
//! Keys of the architecture are a closed list, as those of `config.json` are: one without a row is refused. Other keys
//! (`general.…`, `quantize.…`, a publisher's own) tell of the file and change nothing.

use serde_json::{Map, Value as Json, json};

use super::metadata::{Metadata, Value};
use super::names::{ARCHITECTURES, ROPE_FACTORS};
use crate::checkpoint::Entry;
use crate::{Code, Config, Finding, Refusal, RopeScaling, Tensor};

/// What is done with a key `ARCHITECTURE.…`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Use {
    /// It states the key of `config.json` of this name.
    As(&'static str),
    /// It has to be what the key of `config.json` of this name says.
    Same(&'static str),
    /// Rotary scaling: the key of `rope_scaling`.
    Scaling(&'static str),
    /// Accepted with this value only.
    Only(&'static str),
    /// It changes nothing.
    Harmless,
}

/// The keys that are known, without the name of the architecture.
pub(crate) const KEYS: &[(&str, Use)] = &[
    ("block_count", Use::As("num_hidden_layers")),
    ("context_length", Use::As("max_position_embeddings")),
    ("embedding_length", Use::As("hidden_size")),
    ("feed_forward_length", Use::As("intermediate_size")),
    ("attention.head_count", Use::As("num_attention_heads")),
    ("attention.head_count_kv", Use::As("num_key_value_heads")),
    ("attention.key_length", Use::As("head_dim")),
    ("attention.value_length", Use::Same("head_dim")),
    ("attention.layer_norm_rms_epsilon", Use::As("rms_norm_eps")),
    ("attention.sliding_window", Use::As("sliding_window")),
    ("vocab_size", Use::Same("vocab_size")),
    ("rope.freq_base", Use::As("rope_theta")),
    ("rope.dimension_count", Use::Same("head_dim")),
    ("rope.scale_linear", Use::Scaling("factor")),
    ("rope.scaling.type", Use::Scaling("rope_type")),
    ("rope.scaling.factor", Use::Scaling("factor")),
    ("rope.scaling.original_context_length", Use::Scaling("original_max_position_embeddings")),
    ("rope.scaling.yarn_beta_fast", Use::Scaling("beta_fast")),
    ("rope.scaling.yarn_beta_slow", Use::Scaling("beta_slow")),
    ("rope.scaling.attn_factor", Use::Only("1.0")),
    ("rope.scaling.yarn_attn_factor", Use::Only("1.0")),
    ("rope.scaling.yarn_ext_factor", Use::Only("1.0")),
    ("rope.scaling.finetuned", Use::Harmless),
    ("expert_count", Use::As("num_local_experts")),
    ("expert_used_count", Use::As("num_experts_per_tok")),
    ("attention.causal", Use::Only("true")),
    ("attention.scale", Use::As("attention_multiplier")),
    ("attn_logit_softcapping", Use::As("attn_logit_softcapping")),
    ("final_logit_softcapping", Use::As("final_logit_softcapping")),
    ("logit_scale", Use::As("logit_scale")),
    ("embedding_scale", Use::As("embedding_multiplier")),
    ("residual_scale", Use::As("residual_multiplier")),
    ("tensor_data_layout", Use::Only("\"Meta AI original pth\"")),
];

/// Base of the rotary frequencies where none is stated, as the format defines it.
const THETA: f64 = 10_000.0;

/// The architecture: GGUF's name and the published one.
///
/// # Errors
/// `gguf_invalid` when none is stated, `unsupported_architecture` when it is another, or the file holds no model.
pub(crate) fn architecture(metadata: &Metadata<'_>) -> Result<(&'static str, &'static str), Refusal> {
    let mut findings = Vec::new();
    let name = metadata.text("general.architecture", &mut findings);
    let kind = metadata.text("general.type", &mut findings).unwrap_or("model");
    Refusal::check(Code::GgufInvalid, findings)?;
    let names = ARCHITECTURES.map(|(name, _)| name).join(", ");
    let Some(name) = name else {
        return Err(Refusal::new(
            Code::GgufInvalid,
            "general.architecture",
            format!("one of {names}"),
            "absent",
        ));
    };
    let mut findings = Vec::new();
    let known = ARCHITECTURES.into_iter().find(|(known, _)| *known == name);
    if known.is_none() {
        findings.push(Finding::new("general.architecture", format!("one of {names}"), name));
    }
    if kind != "model" {
        findings.push(Finding::new("general.type", "model", kind));
    }
    Refusal::check(Code::UnsupportedArchitecture, findings)?;
    Ok(known.unwrap_or_default())
}

/// The configuration that metadata and tensors (with published names) state. `factors` divide the rotary frequencies.
///
/// # Errors
/// `unsupported_architecture`, `rope_contradictory` or `config_invalid`, with GGUF's names for the keys.
pub(crate) fn config(
    metadata: &Metadata<'_>,
    (architecture, model_type): (&str, &str),
    entries: &[Entry],
    factors: Option<Tensor<'_>>,
) -> Result<Config, Refusal> {
    let mut stated = Stated::default();
    stated.object.insert("model_type".to_owned(), model_type.into());
    // The architectures define it.
    stated.object.insert("hidden_act".to_owned(), "silu".into());
    let prefix = format!("{architecture}.");
    for (key, value) in metadata.iter() {
        if let Some(key) = key.strip_prefix(&prefix) {
            stated.read(key, value);
        }
    }
    stated.complete(metadata, model_type, entries);
    let Stated { object, findings, .. } = stated;
    let read = Config::from_json(Json::Object(object).to_string().as_bytes());
    let mut config = match read {
        Ok(config) if findings.is_empty() => config,
        Ok(_) => {
            return Err(with_names(Refusal::with_findings(Code::UnsupportedArchitecture, findings), &prefix));
        }
        Err(refusal) => {
            let all = [findings, refusal.findings().to_vec()].concat();
            return Err(with_names(Refusal::with_findings(refusal.code(), all), &prefix));
        }
    };
    if let Some(tensor) = factors {
        let divisors = tensor.to_f64()?;
        let got = format!("{} {:?}", tensor.stored, tensor.shape);
        if config.rope.scaling != RopeScaling::None || divisors.len() != config.head_dim / 2 {
            let expected = format!("{} divisors, and no rotary scaling in the metadata", config.head_dim / 2);
            return Err(Refusal::new(Code::RopeContradictory, ROPE_FACTORS, expected, got));
        }
        if let Some(wrong) = divisors.iter().find(|divisor| **divisor <= 0.0) {
            return Err(Refusal::new(Code::RopeContradictory, ROPE_FACTORS, "divisors above 0", wrong));
        }
        if divisors.iter().any(|divisor| *divisor != 1.0) {
            config.rope.scaling = RopeScaling::Factors(divisors);
        }
    }
    Ok(config)
}

/// What the metadata says, as an object of `config.json`.
#[derive(Default)]
struct Stated {
    object: Map<String, Json>,
    scaling: Map<String, Json>,
    same: Vec<(&'static str, &'static str, Json)>,
    findings: Vec<Finding>,
}

impl Stated {
    fn read(&mut self, key: &str, value: &Value<'_>) {
        let Some((key, rule)) = KEYS.iter().find(|(known, _)| *known == key) else {
            self.findings.push(Finding::new(key, "a key whose meaning is known", value.show()));
            return;
        };
        match *rule {
            Use::As(name) => {
                self.object.insert(name.to_owned(), value.json());
            }
            Use::Same(name) => self.same.push((key, name, value.json())),
            Use::Scaling(name) => {
                self.scaling.insert(name.to_owned(), value.json());
            }
            Use::Only(accepted) => {
                let stated = value.json().to_string();
                if stated != accepted {
                    self.findings.push(Finding::new(*key, accepted, stated));
                }
            }
            Use::Harmless => {}
        }
    }

    /// Adds what the tensors say and what the format defines absence to mean, and compares what is said twice.
    fn complete(&mut self, metadata: &Metadata<'_>, model_type: &str, entries: &[Entry]) {
        let find = |name: &str| entries.iter().find(|entry| entry.name == name);
        if let Some([vocab, ..]) = find("model.embed_tokens.weight").map(|entry| entry.shape.as_slice()) {
            self.object.insert("vocab_size".to_owned(), json!(vocab));
        }
        self.object.insert("tie_word_embeddings".to_owned(), find("lm_head.weight").is_none().into());
        if model_type == "llama" {
            let biased = find("model.layers.0.self_attn.q_proj.bias").is_some();
            self.object.insert("attention_bias".to_owned(), biased.into());
        } else if self.object.contains_key("sliding_window") {
            self.object.insert("use_sliding_window".to_owned(), true.into());
        }
        self.object.entry("rope_theta").or_insert(json!(THETA));
        let number = |object: &Map<String, Json>, key: &str| object.get(key).and_then(Json::as_u64);
        let (hidden, heads) =
            (number(&self.object, "hidden_size"), number(&self.object, "num_attention_heads"));
        if let (Some(hidden), Some(heads)) = (hidden, heads.filter(|heads| *heads > 0)) {
            self.object.entry("num_key_value_heads").or_insert(json!(heads));
            self.object.entry("head_dim").or_insert(json!(hidden / heads));
        }
        let scaled = self.scaling.remove("rope_type");
        match scaled.as_ref().map_or(Some("linear"), Json::as_str) {
            // `none` may stand beside keys of a scaling that is switched off; without a type it is by a factor alone.
            Some("none") => {}
            Some("linear") if !self.scaling.contains_key("factor") => {}
            Some(kind) => {
                self.scaling.insert("rope_type".to_owned(), kind.into());
                if kind == "linear" {
                    self.scaling.remove("original_max_position_embeddings");
                }
                self.object
                    .insert("rope_scaling".to_owned(), Json::Object(std::mem::take(&mut self.scaling)));
            }
            None => self.findings.push(Finding::new("rope.scaling.type", "a name", json!(scaled))),
        }
        for (key, name, value) in std::mem::take(&mut self.same) {
            let expected = self.object.get(name).unwrap_or(&Json::Null);
            if expected != &value {
                self.findings.push(Finding::new(key, format!("{expected}, the model's {name}"), value));
            }
        }
        let mut ids = Vec::new();
        for key in ["eos", "eot", "eom"] {
            let id = metadata.size(&format!("tokenizer.ggml.{key}_token_id"), &mut self.findings);
            ids.extend(id.filter(|id| !ids.contains(id)));
        }
        self.object.insert("eos_token_id".to_owned(), json!(ids));
        if let Some(bos) = metadata.size("tokenizer.ggml.bos_token_id", &mut self.findings) {
            self.object.insert("bos_token_id".to_owned(), json!(bos));
        }
    }
}

/// The same refusal with GGUF's names for the keys.
fn with_names(refusal: Refusal, prefix: &str) -> Refusal {
    let rename = |what: &str| {
        let (key, rest) = what.split_once('.').map_or((what, ""), |(key, _)| (key, &what[key.len()..]));
        let scaling = (key == "rope_scaling").then_some(&rest[rest.len().min(1)..]);
        let found = KEYS.iter().find(|(known, rule)| match rule {
            Use::As(name) => scaling.is_none() && *name == key,
            Use::Scaling(name) => scaling == Some(name) || *known == what,
            _ => *known == what,
        });
        match (found, key) {
            (Some((known, _)), _) => format!("{prefix}{known}"),
            (None, "eos_token_id" | "bos_token_id") => format!("tokenizer.ggml.{key}"),
            (None, "vocab_size") => "token_embd.weight".to_owned(),
            (None, _) => format!("{prefix}{what}"),
        }
    };
    let findings = refusal.findings().iter().map(|f| Finding { what: rename(&f.what), ..f.clone() });
    Refusal::with_findings(refusal.code(), findings.collect())
}
