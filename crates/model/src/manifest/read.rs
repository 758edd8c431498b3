//! Reads `manifest.json`, closed: what is not part of the format is refused.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::keys::KEYS;
use super::{BLOB, DTYPE_F32, MAX_POSITIONS, Manifest, ManifestTensor, ROPE_LLAMA3};
use crate::json::{self, Object};
use crate::schema::reader::Reader;
use crate::{Code, Config, Family, Finding, Refusal, Rope, RopeScaling, StoredType, fixed_arm};

/// What a manifest states, in the project's own terms.
#[derive(Clone, Debug)]
pub struct ReadManifest {
    /// The configuration. The family is the one whose definition has the stated flags.
    pub config: Config,
    /// Type of every element.
    pub stored: StoredType,
    /// The prompt folded into the checkpoint.
    pub input_ids: Vec<u32>,
    /// Tensors by name.
    pub tensors: BTreeMap<String, ManifestTensor>,
}

impl Manifest {
    /// Reads the text of a `manifest.json`.
    ///
    /// # Errors
    /// `manifest_invalid` or `unsupported_architecture`, listing every mismatch found in the first of the three
    /// parts (configuration, ids, tensors) that has one; `fixed_shape_mismatch` for the fixed form.
    pub fn read(text: &[u8]) -> Result<ReadManifest, Refusal> {
        let manifest = json::object(text).map_err(|e| invalid("manifest", "a JSON object", e))?;
        let mut findings = Vec::new();
        for (key, value) in &manifest {
            if !matches!(key.as_str(), "config" | "input_ids" | "tensors") {
                findings.push(Finding::new(key, "only config, input_ids and tensors", json::show(value)));
            }
        }
        Refusal::check(Code::ManifestInvalid, findings)?;
        let (config, stored, n_tokens) = read_config(part(&manifest, "config")?)?;
        let input_ids = read_ids(manifest.get("input_ids"), n_tokens, config.vocab)?;
        let tensors = read_tensors(part(&manifest, "tensors")?)?;
        Ok(ReadManifest { config, stored, input_ids, tensors })
    }
}

fn part<'a>(manifest: &'a Object, key: &str) -> Result<&'a Object, Refusal> {
    let got = match manifest.get(key) {
        Some(Json::Object(object)) => return Ok(object),
        Some(other) => json::kind(other),
        None => "absent",
    };
    Err(invalid(key, "an object", got))
}

/// Configuration, element type and `n_tokens`.
fn read_config(object: &Object) -> Result<(Config, StoredType, usize), Refusal> {
    let mut r = Reader::new(object, KEYS, Code::ManifestInvalid);
    r.apply_table();
    let flags =
        ["has_qk_norm", "tie_word_embeddings", "attention_bias"].map(|key| r.size(key).map(|n| n == 1));
    let fixed_form = flags.iter().all(Option::is_none);
    let [qk_norm, tied, qkv_bias] = match flags {
        _ if fixed_form => [true, true, false],
        _ => flags.map(|flag| flag.unwrap_or_default()),
    };
    if !fixed_form {
        for key in ["has_qk_norm", "tie_word_embeddings", "attention_bias"] {
            if r.size(key).is_none() {
                r.missing(key, "0 or 1, as its two companions");
            }
        }
    }
    let heads = r.size("num_attention_heads");
    let kv_heads = crate::config::kv_heads(&mut r, heads);
    let eos = r.ids("eos_token_id", r.size("vocab_size"), 64);
    let rope = rope(&mut r);
    let stored = match r.get("weights_dtype").and_then(Json::as_str) {
        Some(DTYPE_F32) => StoredType::F32,
        _ => StoredType::F64,
    };
    let n_tokens = r.size("n_tokens");
    let read = || -> Option<(Config, StoredType, usize)> {
        let config = Config {
            family: match (qk_norm, qkv_bias) {
                (true, _) => Family::Qwen3,
                (false, true) => Family::Qwen2,
                (false, false) => Family::Llama,
            },
            hidden: r.size("hidden_size")?,
            layers: r.size("num_hidden_layers")?,
            heads: heads?,
            kv_heads: kv_heads?,
            head_dim: r.size("head_dim")?,
            intermediate: r.size("intermediate_size")?,
            vocab: r.size("vocab_size")?,
            norm_eps: r.number("rms_norm_eps")?,
            rope: rope?,
            tied,
            qk_norm,
            qkv_bias,
            max_positions: MAX_POSITIONS,
            bos: None,
            eos,
            stored: Some(stored),
        };
        Some((config, stored, n_tokens?))
    };
    let read = read();
    let read = r.finish(read)?;
    if fixed_form {
        fixed_arm::check(&read.0)?;
    }
    Ok(read)
}

fn rope(r: &mut Reader<'_>) -> Option<Rope> {
    let theta = r.number("rope_theta");
    let scaling = if let Some(factors) = r.get("rope_freq_factors") {
        let half = r.size("head_dim")? / 2;
        let divisors = |list: &Vec<Json>| -> Option<Vec<f64>> {
            list.iter().map(|n| n.as_f64().filter(|n| *n > 0.0)).collect()
        };
        match factors.as_array().and_then(divisors) {
            Some(list) if list.len() == half => RopeScaling::Factors(list),
            _ => {
                let expected = format!("{half} numbers above 0, one a frequency");
                r.invalid("rope_freq_factors", expected, json::show(factors));
                return None;
            }
        }
    } else if let Some(kind) = r.get("rope_scaling_type") {
        if kind.as_u64() != Some(ROPE_LLAMA3.into()) {
            return None;
        }
        let mut needed = |key: &str| {
            let value = r.number(key);
            if value.is_none() {
                r.missing(key, "a number, for llama3 scaling");
            }
            value
        };
        let factor = needed("rope_scaling_factor");
        let original = needed("rope_scaling_original_max_position_embeddings");
        // What the format defines absence to mean.
        let low = r.number("rope_scaling_low_freq_factor").unwrap_or(1.0);
        let high = r.number("rope_scaling_high_freq_factor").unwrap_or(4.0);
        if high <= low {
            r.invalid("rope_scaling_high_freq_factor", format!("above the low one, {low}"), high);
        }
        RopeScaling::Llama3 {
            factor: factor?,
            low_freq_factor: low,
            high_freq_factor: high,
            original_max_positions: original? as usize,
        }
    } else {
        for key in KEYS.iter().filter(|key| key.name.starts_with("rope_scaling_")) {
            if let Some(value) = r.get(key.name) {
                r.invalid(key.name, "rope_scaling_type beside it", json::show(value));
            }
        }
        RopeScaling::None
    };
    Some(Rope { theta: theta?, scaling })
}

fn read_ids(value: Option<&Json>, n_tokens: usize, vocab: usize) -> Result<Vec<u32>, Refusal> {
    let Some(Json::Array(list)) = value else {
        return Err(invalid("input_ids", "a list", value.map_or("absent", json::kind)));
    };
    if list.len() != n_tokens {
        return Err(invalid("input_ids", format!("{n_tokens} ids, as n_tokens says"), list.len()));
    }
    let id = |value: &Json| {
        let id = value.as_u64().filter(|&id| id < vocab as u64).and_then(|id| u32::try_from(id).ok());
        id.ok_or_else(|| invalid("input_ids", format!("ids below {vocab}"), json::show(value)))
    };
    list.iter().map(id).collect()
}

fn read_tensors(object: &Object) -> Result<BTreeMap<String, ManifestTensor>, Refusal> {
    let mut findings = Vec::new();
    let mut tensors = BTreeMap::new();
    for (name, entry) in object {
        match read_tensor(entry) {
            Some(tensor) => {
                tensors.insert(name.clone(), tensor);
            }
            None => findings.push(Finding::new(
                name,
                "exactly offset, n_elements, shape and transposed, counts of elements that agree",
                json::show(entry),
            )),
        }
    }
    Refusal::check(Code::ManifestInvalid, findings)?;
    Ok(tensors)
}

fn read_tensor(entry: &Json) -> Option<ManifestTensor> {
    let entry = entry.as_object().filter(|keys| keys.len() == 4)?;
    let count = |value: &Json| value.as_u64().and_then(|n| usize::try_from(n).ok());
    let shape: Vec<usize> = entry.get("shape")?.as_array()?.iter().map(count).collect::<Option<_>>()?;
    let transposed = match entry.get("transposed")? {
        Json::Bool(flag) => *flag,
        // Written as a number by some writers of the format, like the flags of the configuration.
        flag => match flag.as_u64()? {
            0 => false,
            1 => true,
            _ => return None,
        },
    };
    let n_elements = count(entry.get("n_elements")?)?;
    let product = shape.iter().try_fold(1usize, |product, &n| product.checked_mul(n))?;
    let fits = product == n_elements && (!transposed || shape.len() == 2);
    fits.then_some(ManifestTensor { offset: count(entry.get("offset")?)?, n_elements, shape, transposed })
}

fn invalid(what: &str, expected: impl std::fmt::Display, got: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::ManifestInvalid, what, expected, got)
}

impl ReadManifest {
    /// Checks that the tensors tile a blob of `bytes`.
    ///
    /// # Errors
    /// `manifest_invalid` listing every hole, overlap and end that does not fit.
    pub fn check_blob(&self, bytes: usize) -> Result<(), Refusal> {
        let size = self.stored.block_bytes();
        if !bytes.is_multiple_of(size) {
            return Err(invalid(BLOB, format!("whole {} elements", self.stored), format!("{bytes} bytes")));
        }
        let claims = self.tensors.iter().map(|(name, t)| crate::checkpoint::Claim {
            name,
            start: t.offset,
            end: t.offset.checked_add(t.n_elements),
        });
        let findings = crate::checkpoint::check_tiling(claims.collect(), bytes / size, "element");
        Refusal::check(Code::ManifestInvalid, findings)
    }
}
