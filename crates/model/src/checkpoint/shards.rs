//! Which files hold the weights: one file, or those an index names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::folder::{Folder, FolderFile};
use super::header;
use super::weights::{Entry, WeightFile, Weights};
use crate::{Code, Finding, Refusal, json};

/// The single-file name.
pub(crate) const SINGLE: &str = "model.safetensors";
/// The index of a sharded checkpoint.
pub const INDEX: &str = "model.safetensors.index.json";

/// Files of the same format that are not weights and are never read as such.
const COMPANIONS: &[(&str, &str)] = &[("reference.safetensors", "stored results that gates compare with")];

/// Opens the weights of a folder and checks files, headers and index against each other.
///
/// # Errors
/// `checkpoint_not_found`, `weights_unsupported`, `index_invalid`, `stray_weights`, `safetensors_invalid`,
/// `tensor_mismatch`, `file_unreadable`.
pub(crate) fn open(folder: &Folder, files: &[FolderFile]) -> Result<Weights, Refusal> {
    match folder.text(INDEX)? {
        None => open_single(folder, files),
        Some(text) => {
            let index = read_index(&text).map_err(|r| r.at(folder.place(INDEX)))?;
            open_sharded(folder, files, &index)
        }
    }
}

fn open_single(folder: &Folder, files: &[FolderFile]) -> Result<Weights, Refusal> {
    let present: Vec<_> = safetensors(files).collect();
    match present[..] {
        [] => Err(no_weights(folder, files)),
        [SINGLE] => {
            let (file, entries) = open_file(folder, SINGLE, 0)?;
            Ok(sorted(vec![file], entries))
        }
        _ if !present.contains(&SINGLE) => {
            let expected = format!("{SINGLE}, or {INDEX} beside its shards");
            Err(Refusal::new(Code::CheckpointNotFound, "weights", expected, present.join(", "))
                .at(folder.place("")))
        }
        _ => Err(Refusal::with_findings(
            Code::StrayWeights,
            present.into_iter().filter(|&name| name != SINGLE).map(stray).collect(),
        )
        .at(folder.place(""))),
    }
}

fn open_sharded(
    folder: &Folder,
    files: &[FolderFile],
    index: &BTreeMap<String, String>,
) -> Result<Weights, Refusal> {
    let shards: BTreeSet<&str> = index.values().map(String::as_str).collect();
    let present: BTreeSet<&str> = safetensors(files).collect();
    let absent = shards.difference(&present).map(|name| Finding::new(*name, "a file", folder.absence(name)));
    Refusal::check(Code::IndexInvalid, absent.collect()).map_err(|r| r.at(folder.place(INDEX)))?;
    Refusal::check(Code::StrayWeights, present.difference(&shards).map(|name| stray(name)).collect())
        .map_err(|r| r.at(folder.place("")))?;

    let mut weights = Vec::with_capacity(shards.len());
    let mut entries = Vec::new();
    let mut findings = Vec::new();
    for (file_index, shard) in shards.into_iter().enumerate() {
        let (file, held) = open_file(folder, shard, file_index)?;
        for entry in &held {
            match index.get(&entry.name) {
                Some(named) if named == shard => {}
                Some(named) => findings.push(Finding::new(&entry.name, format!("only in {named}"), shard)),
                None => findings.push(Finding::new(&entry.name, "in the index", format!("only in {shard}"))),
            }
        }
        weights.push(file);
        entries.extend(held);
    }
    let weights = sorted(weights, entries);
    for (name, shard) in index {
        let key = |e: &Entry| (e.name.as_str(), weights.files[e.file].name.as_str()).cmp(&(name, shard));
        if weights.entries.binary_search_by(key).is_err() {
            findings.push(Finding::new(name, format!("in {shard}, as the index says"), "absent there"));
        }
    }
    Refusal::check(Code::IndexInvalid, findings).map_err(|r| r.at(folder.place(INDEX)))?;
    Ok(weights)
}

/// The names of the shards that an index names, each a plain file name.
///
/// # Errors
/// [`Code::IndexInvalid`].
pub fn shards_of_index(text: &[u8]) -> Result<BTreeSet<String>, Refusal> {
    Ok(read_index(text)?.into_values().collect())
}

/// The map of tensor name to shard name, with every shard name a plain file name.
///
/// # Errors
/// `index_invalid`.
pub(crate) fn read_index(text: &[u8]) -> Result<BTreeMap<String, String>, Refusal> {
    let invalid =
        |what: &str, expected: &str, got: String| Refusal::new(Code::IndexInvalid, what, expected, got);
    let index = json::object(text).map_err(|e| invalid("index", "a JSON object", e))?;
    let mut findings = Vec::new();
    for (key, value) in &index {
        // `metadata` states totals that the headers say exactly; it is not needed.
        if key != "weight_map" && key != "metadata" {
            findings.push(Finding::new(key, "only metadata and weight_map", json::show(value)));
        }
    }
    let Some(Value::Object(map)) = index.get("weight_map") else {
        let got = index.get("weight_map").map_or("absent", json::kind).to_owned();
        return Err(invalid("weight_map", "an object of tensor names and file names", got));
    };
    let mut shards = BTreeMap::new();
    for (name, shard) in map {
        match shard.as_str() {
            Some(file) if is_plain_name(file) => {
                shards.insert(name.clone(), file.to_owned());
            }
            _ => findings.push(Finding::new(
                name,
                "a plain `*.safetensors` file name, without folder",
                json::show(shard),
            )),
        }
    }
    if map.is_empty() {
        findings.push(Finding::new("weight_map", "at least one tensor", "none"));
    }
    Refusal::check(Code::IndexInvalid, findings)?;
    Ok(shards)
}

/// Whether a name stays in its folder on every system.
fn is_plain_name(name: &str) -> bool {
    name.ends_with(".safetensors") && !name.contains(['/', '\\', ':', '\0']) && !name.starts_with('.')
}

fn open_file(folder: &Folder, name: &str, index: usize) -> Result<(WeightFile, Vec<Entry>), Refusal> {
    let bytes = folder.bytes(name)?;
    let entries = header::read(&bytes, index).map_err(|r| r.at(folder.place(name)))?;
    Ok((WeightFile { name: name.to_owned(), bytes }, entries))
}

fn sorted(files: Vec<WeightFile>, mut entries: Vec<Entry>) -> Weights {
    entries.sort_by(|a, b| (&a.name, a.file).cmp(&(&b.name, b.file)));
    Weights { files, entries }
}

fn safetensors(files: &[FolderFile]) -> impl Iterator<Item = &str> {
    let is_companion = |name: &str| COMPANIONS.iter().any(|(companion, _)| name == *companion);
    let names = files.iter().map(|f| f.name.as_str());
    names.filter(move |name| name.ends_with(".safetensors") && !is_companion(name))
}

fn stray(name: &str) -> Finding {
    Finding::new(name, "only the files of one checkpoint", "a weight file that is not part of it")
}

/// Other formats that weights come in, and what they are.
const OTHER_FORMATS: &[(&str, &str)] = &[
    (".bin", "a pickle, which runs code when read"),
    (".pt", "a pickle, which runs code when read"),
    (".pth", "a pickle, which runs code when read"),
    (".ckpt", "a pickle, which runs code when read"),
    (".ggml", "a GGML file"),
    (".onnx", "an ONNX graph"),
    (".h5", "a Keras file"),
    (".msgpack", "a Flax file"),
    (".npz", "a NumPy archive"),
];

/// There is no safetensors file: names the other formats found, if any.
fn no_weights(folder: &Folder, files: &[FolderFile]) -> Refusal {
    let others: Vec<_> = files
        .iter()
        .filter_map(|file| {
            let (_, what) = OTHER_FORMATS.iter().find(|(end, _)| file.name.ends_with(end))?;
            Some(Finding::new(&file.name, "safetensors", *what))
        })
        .collect();
    let is_weights = |name: &String| [".safetensors", ".gguf", INDEX].iter().any(|end| name.ends_with(end));
    let broken: Vec<_> = folder.broken_links().into_iter().filter(is_weights).collect();
    let refusal = if !broken.is_empty() {
        let finding = |name: &String| Finding::new(name, "a file", folder.absence(name));
        Refusal::with_findings(Code::CheckpointNotFound, broken.iter().map(finding).collect())
    } else if others.is_empty() {
        Refusal::new(Code::CheckpointNotFound, "weights", format!("{SINGLE} or {INDEX}"), "neither")
    } else {
        Refusal::with_findings(Code::WeightsUnsupported, others)
    };
    refusal.at(folder.place(""))
}
