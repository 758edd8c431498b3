//! Random checkpoints from a seed: real shapes for measurement, small odd ones for property tests.
//!
//! [`write`](fn@write) makes an ordinary Hugging Face directory (`config.json`, `generation_config.json`,
//! `model.safetensors`) that every engine can open. The same configuration and seed give the same bytes on every
//! machine: each value is a function of seed, tensor name and index alone (see [`Draw`]), in integer and exactly
//! rounded f32 arithmetic, with no call to a platform's `ln` or `cos`.
//!
//! The weights mean nothing, but activations keep the size of a trained model's and greedy choices are not one token
//! for ever (the table in `tensors` gives deviations and reasons). A tokenizer is not made; ids are enough for what these checkpoints are for.

mod draw;
mod json;
mod preset;
mod tensors;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use half::{bf16, f16};
use serde_json::{Map, Value, json};
use tilewright_model::{Code, Config, Refusal, StoredType};

pub use draw::Draw;
pub use preset::{Preset, small};
use tensors::{Seeded, tensors};

/// Elements drawn, converted and written at once.
const TILE: usize = 1 << 16;

/// Writes the checkpoint of `config` and `seed` into `dir`, which is made if absent; files there are replaced.
///
/// Weights are stored as `config.stored` says, bf16 if it says nothing. Memory stays below a megabyte whatever the
/// model's size. `progress` hears the share done, 0 to 1. `config.json` comes last, so that an interrupted run leaves
/// no checkpoint.
///
/// # Errors
/// [`Code::FileUnwritable`] when a file cannot be written; [`Code::UnsupportedArchitecture`] when `config.json` has no
/// words for the configuration (explicit rotary factors).
pub fn write(config: &Config, seed: u64, dir: &Path, progress: &mut dyn FnMut(f64)) -> Result<(), Refusal> {
    let refuse = |file: &str, e: std::io::Error| {
        Refusal::new(Code::FileUnwritable, file, "a writable file", e).at(dir.display())
    };
    let config_json = json::config(config)?;
    let weights = "model.safetensors";
    std::fs::create_dir_all(dir).map_err(|e| refuse("directory", e))?;
    File::create(dir.join(weights))
        .and_then(|file| safetensors(config, seed, BufWriter::new(file), progress))
        .map_err(|e| refuse(weights, e))?;
    for (name, value) in
        [("generation_config.json", json::generation_config(config)), ("config.json", config_json)]
    {
        std::fs::write(dir.join(name), format!("{value:#}\n")).map_err(|e| refuse(name, e))?;
    }
    Ok(())
}

/// The `model.safetensors` of `config` and `seed`, streamed to `out`.
fn safetensors(
    config: &Config,
    seed: u64,
    mut out: impl Write,
    progress: &mut dyn FnMut(f64),
) -> std::io::Result<()> {
    let stored = config.stored.unwrap_or(StoredType::Bf16);
    let tensors = tensors(config);
    let total: usize = tensors.iter().map(Seeded::elements).sum();

    let header = header(&tensors, stored);
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    let (mut done, mut values, mut bytes) =
        (0, Vec::with_capacity(TILE), Vec::with_capacity(TILE * stored.block_bytes()));
    for tensor in &tensors {
        let draw = Draw::new(seed, &tensor.name);
        for start in (0..tensor.elements()).step_by(TILE) {
            let end = tensor.elements().min(start + TILE);
            values.clear();
            values.extend((start..end).map(|i| tensor.center + tensor.spread * draw.normal(i as u64)));
            bytes.clear();
            encode(&values, stored, &mut bytes);
            out.write_all(&bytes)?;
            done += end - start;
            progress(done as f64 / total as f64);
        }
    }
    out.flush()
}

/// The JSON header: name, type, shape and byte range of each tensor, padded to a multiple of eight bytes.
fn header(tensors: &[Seeded], stored: StoredType) -> String {
    let mut entries = Map::new();
    entries.insert("__metadata__".into(), json!({"format": "pt"}));
    let mut at = 0;
    for tensor in tensors {
        let end = at + tensor.elements() * stored.block_bytes();
        let entry = json!({
            "dtype": stored.to_string().to_uppercase(), "shape": tensor.shape, "data_offsets": [at, end],
        });
        entries.insert(tensor.name.clone(), entry);
        at = end;
    }
    let mut header = Value::Object(entries).to_string();
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    header
}

/// Appends `values` as little-endian `stored`.
fn encode(values: &[f32], stored: StoredType, out: &mut Vec<u8>) {
    match stored {
        StoredType::F64 => out.extend(values.iter().flat_map(|&v| f64::from(v).to_le_bytes())),
        StoredType::F32 => out.extend(values.iter().flat_map(|v| v.to_le_bytes())),
        StoredType::F16 => out.extend(values.iter().flat_map(|&v| f16::from_f32(v).to_le_bytes())),
        _ => out.extend(values.iter().flat_map(|&v| bf16::from_f32(v).to_le_bytes())),
    }
}
