//! Reads `config.json`: the table first, then the facts that join several keys.
//!
//! All mismatches are collected and refused together, before any weight is looked at.

use serde_json::Value as Json;

use super::keys::{HEAD_DIM, KEYS};
use super::{Config, Family, rope};
use crate::schema::Verdict;
use crate::schema::reader::Reader;
use crate::{Code, Refusal, StoredType, json};

/// See [`Config::from_json`].
pub(super) fn read(text: &[u8]) -> Result<Config, Refusal> {
    let object = json::object(text)
        .map_err(|e| Refusal::new(Code::ConfigInvalid, "config.json", "a JSON object", e))?;
    let mut reader = Reader::new(&object, KEYS, Code::ConfigInvalid);
    reader.family = family(&mut reader);
    reader.apply_table();
    let config = config(&mut reader);
    reader.finish(config)
}

/// The family stated by `model_type` and `architectures`.
///
/// It is a definition of the computation, not a model's name: other definitions state the same keys and mean
/// something else by them (a rotation of neighbours, a norm after the branch), so an unknown one is refused.
fn family(r: &mut Reader<'_>) -> Option<Family> {
    let by =
        |name: fn(Family) -> &'static str, text: &str| Family::ALL.iter().copied().find(|f| name(*f) == text);
    let names = |name: fn(Family) -> &'static str| {
        let names: Vec<_> = Family::ALL.iter().map(|f| name(*f)).collect();
        format!("one of {}", names.join(", "))
    };

    let model_type = r.get("model_type");
    let by_type = model_type.and_then(Json::as_str).and_then(|text| by(Family::model_type, text));
    if let Some(value) = model_type.filter(|_| by_type.is_none()) {
        r.unsupported("model_type", names(Family::model_type), json::show(value));
    }

    let architectures = r.get("architectures");
    let by_architecture = match architectures.and_then(Json::as_array).map(Vec::as_slice) {
        Some([Json::String(only)]) => by(Family::architecture, only),
        _ => None,
    };
    if let Some(value) = architectures.filter(|_| by_architecture.is_none()) {
        r.unsupported("architectures", names(Family::architecture), json::show(value));
    }

    match (by_type, by_architecture) {
        (Some(t), Some(a)) if t != a => {
            r.unsupported(
                "architectures",
                format!("{:?}, as model_type says", [t.architecture()]),
                a.architecture(),
            );
            None
        }
        (None, None) if model_type.is_none() && architectures.is_none() => {
            r.missing("model_type", names(Family::model_type));
            None
        }
        (t, a) => t.or(a),
    }
}

/// The configuration, when every part of it could be read.
fn config(r: &mut Reader<'_>) -> Option<Config> {
    let layers = r.size("num_hidden_layers");
    let vocab = r.size("vocab_size");
    let max_positions = r.size("max_position_embeddings");
    let heads = r.size("num_attention_heads");
    let kv_heads = kv_heads(r, heads);
    let head_dim = head_dim(r, heads);
    if let (Some(heads), Some(head_dim)) = (heads, head_dim)
        && let width = heads.saturating_mul(head_dim)
        && !width.is_multiple_of(32)
    {
        r.unsupported("num_attention_heads * head_dim", "a multiple of 32", width);
    }
    sliding_window(r, layers, max_positions);
    layer_types(r, layers);
    let qkv_bias = qkv_bias(r);
    let bos = r.ids("bos_token_id", vocab, 1);
    let eos = r.ids("eos_token_id", vocab, 64);
    let stored = stored(r);
    let rope = rope::read(r);
    let family = r.family?;
    Some(Config {
        family,
        hidden: r.size("hidden_size")?,
        layers: layers?,
        heads: heads?,
        kv_heads: kv_heads?,
        head_dim: head_dim?,
        intermediate: r.size("intermediate_size")?,
        vocab: vocab?,
        norm_eps: r.number("rms_norm_eps")?,
        rope: rope?,
        tied: r.flag("tie_word_embeddings")?,
        qk_norm: family == Family::Qwen3,
        qkv_bias,
        max_positions: max_positions?,
        bos: bos.first().copied(),
        eos,
        stored,
    })
}

/// Stated, or one for each query head where the family allows that to be left out.
pub(crate) fn kv_heads(r: &mut Reader<'_>, heads: Option<usize>) -> Option<usize> {
    let kv_heads = r.size("num_key_value_heads").or(heads);
    if let (Some(heads), Some(kv)) = (heads, kv_heads)
        && (kv == 0 || heads % kv != 0)
    {
        r.unsupported("num_key_value_heads", format!("a divisor of the {heads} query heads"), kv);
    }
    kv_heads
}

/// Stated, or the quotient that defines it where the family allows it to be left out. `None` when it is not a
/// supported width.
fn head_dim(r: &mut Reader<'_>, heads: Option<usize>) -> Option<usize> {
    let is_width = |n: usize| HEAD_DIM.accepts(&n.into()) == Verdict::Accepted;
    if r.get("head_dim").is_some() || r.family == Some(Family::Qwen3) {
        return r.size("head_dim").filter(|&n| is_width(n));
    }
    let (hidden, heads) = (r.size("hidden_size")?, heads.filter(|&n| n > 0)?);
    let derived = Some(hidden / heads).filter(|&n| hidden.is_multiple_of(heads) && is_width(n));
    if derived.is_none() {
        r.unsupported("head_dim", HEAD_DIM, format!("absent, and {hidden} / {heads} is none"));
    }
    derived
}

/// A window is accepted only where no position could fall out of it.
fn sliding_window(r: &mut Reader<'_>, layers: Option<usize>, max_positions: Option<usize>) {
    // Qwen switches the window, and starts it at a layer; elsewhere stating it is using it.
    let switch = matches!(r.family, Some(Family::Qwen3 | Family::Qwen2));
    let from_layer = r.size("max_window_layers").filter(|_| switch).unwrap_or(0);
    let on = !switch || r.flag("use_sliding_window") == Some(true);
    if let (true, Some(window), Some(max), Some(layers)) =
        (on, r.size("sliding_window"), max_positions, layers)
        && window < max
        && from_layer < layers
    {
        r.unsupported(
            "sliding_window",
            format!("null, or at least {max}, the positions of the model"),
            window,
        );
    }
}

fn layer_types(r: &mut Reader<'_>, layers: Option<usize>) {
    let (Some(value), Some(layers)) = (r.get("layer_types"), layers) else { return };
    let full = |v: &Json| v.as_str() == Some("full_attention");
    match value.as_array() {
        Some(list) if list.len() == layers && list.iter().all(full) => {}
        Some(list) if list.len() == layers => {
            let other = list.iter().position(|v| !full(v)).unwrap_or(0);
            let got = format!("{} in layer {other}", json::show(&list[other]));
            r.unsupported("layer_types", "`full_attention` in every layer", got);
        }
        Some(list) => r.invalid("layer_types", format!("{layers} entries, one a layer"), list.len()),
        None => r.invalid("layer_types", "a list", json::show(value)),
    }
}

/// Qwen2 defines the biases; elsewhere they are stated.
fn qkv_bias(r: &mut Reader<'_>) -> bool {
    let stated = r.flag("attention_bias");
    if r.family == Some(Family::Qwen2) {
        if stated == Some(false) {
            r.unsupported("attention_bias", "true or absent, as Qwen2 defines it", false);
        }
        return true;
    }
    stated.unwrap_or(false)
}

/// The stated type. Only a statement: each tensor has its own, and that one counts.
fn stored(r: &mut Reader<'_>) -> Option<StoredType> {
    let mut stated = None;
    for key in ["torch_dtype", "dtype"] {
        let Some(value) = r.get(key) else { continue };
        let stored = match value.as_str().map(|t| t.trim_start_matches("torch.")) {
            Some("float32") => StoredType::F32,
            Some("float16") => StoredType::F16,
            Some("bfloat16") => StoredType::Bf16,
            _ => {
                r.unsupported(key, "float32, float16 or bfloat16", json::show(value));
                continue;
            }
        };
        match stated {
            Some(other) if other != stored => r.invalid(key, format!("{other}, as torch_dtype says"), stored),
            _ => stated = Some(stored),
        }
    }
    stated
}
