//! Writes the published form: `config.json`, `model.safetensors` and the texts beside them.
//!
//! Floats keep their type; blocks, binary64 and what was rounded become f32, which holds what blocks stand for.

use std::path::Path;

use serde_json::{Map, Value as Json, json};

use super::staged::{Reserved, Staged, unwritable};
use super::{Rounding, check_free, other_weights, quantise, sorted};
use crate::checkpoint::{CONFIG, GENERATION_CONFIG, texts};
use crate::manifest::{BLOB, MANIFEST};
use crate::{Checkpoint, Code, Config, Family, Refusal, RopeScaling, StoredType, Tensor};

const WEIGHTS: &str = "model.safetensors";

/// Writes `checkpoint` into `dir`, which is made if absent. `progress` hears bytes written and bytes in all.
///
/// # Errors
/// Before anything is written: [`Code::InexactConversion`] for what `config.json` cannot state, [`Code::OutputExists`].
/// Later [`Code::FileUnwritable`] or [`Code::NonFiniteWeight`]; then there is no `config.json`.
pub fn write_safetensors(
    checkpoint: &Checkpoint,
    dir: &Path,
    overwrite: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), Refusal> {
    write_rounded(checkpoint, dir, None, overwrite, progress)
}

/// As [`write_safetensors`], with matrices rounded and then held as f32.
///
/// # Errors
/// As [`write_safetensors`], and those of the rounding.
pub fn write_rounded(
    checkpoint: &Checkpoint,
    dir: &Path,
    rounding: Option<Rounding<'_>>,
    overwrite: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), Refusal> {
    let config = config(checkpoint)?;
    let texts = texts_of(checkpoint);
    let tensors: Vec<Tensor<'_>> = sorted(checkpoint).into_iter().map(|(_, tensor)| tensor).collect();
    let stored = |tensor: &Tensor<'_>| stored(tensor, rounding.is_some());
    let header = header(&tensors, stored);
    let total: usize =
        header.len() + 8 + tensors.iter().map(|t| stored(t).bytes(t.elements())).sum::<usize>();
    std::fs::create_dir_all(dir).map_err(|e| unwritable(dir, &e))?;
    let names: Vec<&str> = [WEIGHTS, CONFIG].into_iter().chain(texts.iter().map(|(name, _)| *name)).collect();
    let _reserved = Reserved::new(dir, &names)?;
    let taken = [&names[..], &[MANIFEST, BLOB]].concat();
    check_free(dir, &taken, other_weights(dir, Some(WEIGHTS)), overwrite)?;
    let mut weights = Staged::create(dir, WEIGHTS)?;
    weights.write(&(header.len() as u64).to_le_bytes())?;
    weights.write(header.as_bytes())?;
    let mut done = (header.len() + 8) as u64;
    for tensor in &tensors {
        let mut values = vec![0.0; tensor.row_len()];
        let mut bytes = Vec::new();
        for row in 0..tensor.rows() {
            tensor.rows_f32(row..row + 1, &mut values)?;
            Rounding::apply(rounding, tensor, &mut values, tensor.row_len())?;
            quantise::quantise(stored(tensor), &values, &mut bytes);
            if bytes.len() > 1 << 20 || row + 1 == tensor.rows() {
                weights.write(&bytes)?;
                done += bytes.len() as u64;
                progress(done, total as u64);
                bytes.clear();
            }
        }
        checkpoint.release(tensor.bytes);
    }
    weights.commit()?;
    for (name, text) in texts {
        let mut file = Staged::create(dir, name)?;
        file.write(&text)?;
        file.commit()?;
    }
    let mut file = Staged::create(dir, CONFIG)?;
    file.write(format!("{config:#}\n").as_bytes())?;
    file.commit()
}

/// The type a tensor is written as.
fn stored(tensor: &Tensor<'_>, rounded: bool) -> StoredType {
    match tensor.stored {
        _ if rounded && tensor.shape.len() == 2 => StoredType::F32,
        StoredType::Bf16 | StoredType::F16 => tensor.stored,
        _ => StoredType::F32,
    }
}

fn header(tensors: &[Tensor<'_>], stored: impl Fn(&Tensor<'_>) -> StoredType) -> String {
    let mut entries = Map::new();
    entries.insert("__metadata__".to_owned(), json!({"format": "pt"}));
    let mut at = 0;
    for tensor in tensors {
        let stored = stored(tensor);
        let end = at + stored.bytes(tensor.elements());
        let dtype = stored.name().to_uppercase();
        let entry = json!({"dtype": dtype, "shape": tensor.shape, "data_offsets": [at, end]});
        entries.insert(tensor.name.to_owned(), entry);
        at = end;
    }
    let mut header = Json::Object(entries).to_string();
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    header
}

/// The texts beside the weights, by name.
fn texts_of(checkpoint: &Checkpoint) -> Vec<(&'static str, Vec<u8>)> {
    let mut texts = Vec::new();
    if let Some(text) = checkpoint.tokenizer_json() {
        texts.push((texts::TOKENIZER, text.to_vec()));
    }
    if let Some(config) = checkpoint.tokenizer_config() {
        texts.push((texts::TOKENIZER_CONFIG, format!("{config:#}\n").into_bytes()));
    }
    if let Some((template, _)) = checkpoint.chat_template() {
        texts.push((texts::JINJA, template.as_bytes().to_vec()));
    }
    if let Some(text) = checkpoint.generation_text() {
        texts.push((GENERATION_CONFIG, text.to_vec()));
    }
    texts
}

/// `config.json`: the one there is, or the same facts.
fn config(checkpoint: &Checkpoint) -> Result<Json, Refusal> {
    if let Some(text) = checkpoint.config_text() {
        return Ok(serde_json::from_slice(text).unwrap_or_default());
    }
    let facts @ Config { family, .. } = checkpoint.config();
    let mut config = json!({
        "architectures": [family.architecture()],
        "model_type": family.model_type(),
        "hidden_size": facts.hidden,
        "num_hidden_layers": facts.layers,
        "num_attention_heads": facts.heads,
        "num_key_value_heads": facts.kv_heads,
        "head_dim": facts.head_dim,
        "intermediate_size": facts.intermediate,
        "vocab_size": facts.vocab,
        "max_position_embeddings": facts.max_positions,
        "rms_norm_eps": facts.norm_eps,
        "tie_word_embeddings": facts.tied,
        "hidden_act": "silu",
        "rope_theta": facts.rope.theta,
        "bos_token_id": facts.bos,
        "eos_token_id": facts.eos,
    });
    if *family != Family::Qwen2 {
        config["attention_bias"] = facts.qkv_bias.into();
    }
    config["rope_scaling"] = match &facts.rope.scaling {
        RopeScaling::None => Json::Null,
        RopeScaling::Linear { factor } => json!({"rope_type": "linear", "factor": factor}),
        &RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_positions } => json!({
            "rope_type": "llama3", "factor": factor, "low_freq_factor": low_freq_factor,
            "high_freq_factor": high_freq_factor, "original_max_position_embeddings": original_max_positions,
        }),
        &RopeScaling::Yarn { factor, original_max_positions, beta_fast, beta_slow, attention_factor } => {
            json!({
                "rope_type": "yarn", "factor": factor, "original_max_position_embeddings": original_max_positions,
                "beta_fast": beta_fast, "beta_slow": beta_slow, "attention_factor": attention_factor,
            })
        }
        RopeScaling::Factors(_) => {
            let expected = "scaling that config.json has a type for";
            return Err(Refusal::new(Code::InexactConversion, "rope_freqs.weight", expected, "divisors"));
        }
    };
    Ok(config)
}
