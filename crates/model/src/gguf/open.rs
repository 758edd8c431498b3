//! Opening a GGUF file, or all parts of a split one.

use super::config::{architecture, config};
use super::header::{self, Header};
use super::names::{ROPE_FACTORS, is_rotated, published};
use super::texts;
use crate::checkpoint::folder::{Folder, FolderFile};
use crate::checkpoint::texts::Texts;
use crate::checkpoint::{Bytes, Entry, WeightFile, Weights};
use crate::{Code, Config, Finding, Refusal, Tensor};

/// What a file, with its other parts, states.
pub(crate) struct Opened {
    pub(crate) weights: Weights,
    pub(crate) config: Result<Config, Refusal>,
    pub(crate) texts: Result<Texts, Refusal>,
}

/// Whether a file is one by its name.
pub(crate) fn is_gguf(name: &str) -> bool {
    name.ends_with(".gguf")
}

/// Opens the one model that the GGUF files of `files` are.
///
/// # Errors
/// `checkpoint_not_found` when they are several models or a part is missing, `gguf_invalid`, `weights_unsupported`,
/// `unsupported_architecture`, `file_unreadable`.
pub(crate) fn open(folder: &Folder, files: &[FolderFile]) -> Result<Opened, Refusal> {
    let present: Vec<&str> = files.iter().map(|f| f.name.as_str()).filter(|name| is_gguf(name)).collect();
    let names = parts(&present).map_err(|refusal| refusal.at(folder.place("")))?;
    let mut held = Vec::with_capacity(names.len());
    for name in &names {
        held.push(folder.bytes(name)?);
    }
    let mut headers = Vec::with_capacity(names.len());
    for (name, bytes) in names.iter().zip(&held) {
        headers.push(header::read(bytes).map_err(|refusal| refusal.at(folder.place(name)))?);
    }
    let place = folder.place(names[0]);
    check_split(&headers).map_err(|refusal| refusal.at(&place))?;
    let metadata = &headers[0].metadata;
    let architecture = architecture(metadata).map_err(|refusal| refusal.at(&place))?;
    let mut entries = entries(&headers);
    let factors = entries.iter().position(|entry| entry.name == ROPE_FACTORS).map(|at| entries.remove(at));
    let factors = factors.as_ref().map(|entry| view(entry, &held));
    let config = config(metadata, architecture, &entries, factors).map_err(|refusal| refusal.at(&place));
    if let (Ok(config), "llama") = (&config, architecture.0) {
        for entry in entries.iter_mut().filter(|entry| is_rotated(&entry.name)) {
            entry.interleaved = Some(config.head_dim);
        }
    }
    let texts = texts::read(metadata).map_err(|refusal| refusal.at(&place));
    let files = names.iter().map(|name| (*name).to_owned()).zip(held);
    let files = files.map(|(name, bytes)| WeightFile { name, bytes }).collect();
    Ok(Opened { weights: Weights { files, entries }, config, texts })
}

/// The files that are one model, in order.
fn parts<'a>(present: &[&'a str]) -> Result<Vec<&'a str>, Refusal> {
    let refuse =
        |expected: String| Refusal::new(Code::CheckpointNotFound, "weights", expected, present.join(", "));
    if let [only] = present
        && split_name(only).is_none_or(|(_, _, count)| count == 1)
    {
        return Ok(vec![only]);
    }
    let split =
        present.iter().map(|name| split_name(name).map(|(stem, no, count)| ((stem, count), (no, *name))));
    let (Some(mut split), Some(&first)) = (split.collect::<Option<Vec<_>>>(), present.first()) else {
        return Err(refuse(
            "one GGUF file; with several in a folder, the path of the one that is meant".to_owned(),
        ));
    };
    split.sort_by_key(|(_, (no, _))| *no);
    let (stem, count) = split[0].0;
    let complete = split.len() == count && split.iter().enumerate().all(|(i, (_, (no, _)))| *no == i + 1);
    if !complete || split.iter().any(|(of, _)| *of != (stem, count)) {
        return Err(refuse(format!("all {count} parts of {first}, and no others")));
    }
    Ok(split.into_iter().map(|(_, (_, name))| name).collect())
}

/// Whether two file names are of the same model: one name twice, or parts of one split file.
pub fn belong_together(a: &str, b: &str) -> bool {
    let of = |name| split_name(name).map(|(stem, _, count)| (stem, count));
    a == b || (of(a).is_some() && of(a) == of(b))
}

/// `stem-00002-of-00003.gguf`: stem, number from 1 on, count.
fn split_name(name: &str) -> Option<(&str, usize, usize)> {
    let (rest, count) = name.strip_suffix(".gguf")?.rsplit_once("-of-")?;
    let (stem, number) = rest.rsplit_once('-')?;
    let parse = |digits: &str| digits.parse::<usize>().ok().filter(|n| digits.len() == 5 && *n > 0);
    Some((stem, parse(number)?, parse(count)?))
}

/// What each part says of itself, and all of them of the number of tensors.
fn check_split(headers: &[Header<'_>]) -> Result<(), Refusal> {
    let mut findings = Vec::new();
    for (index, Header { metadata, .. }) in headers.iter().enumerate() {
        let count = metadata.size("split.count", &mut findings).unwrap_or(1).max(1);
        let number = metadata.size("split.no", &mut findings).unwrap_or(0);
        if (number, count) != (index, headers.len()) {
            let expected = format!("part {index} of {}, as the file's name says", headers.len());
            findings.push(Finding::new("split.no", expected, format!("part {number} of {count}")));
        }
    }
    let tensors: usize = headers.iter().map(|header| header.tensors.len()).sum();
    if let Some(stated) = headers[0].metadata.size("split.tensors.count", &mut findings)
        && stated != tensors
    {
        findings.push(Finding::new("split.tensors.count", format!("{tensors}, as there are"), stated));
    }
    Refusal::check(Code::GgufInvalid, findings)
}

/// Every tensor under its published name, sorted by it.
fn entries(headers: &[Header<'_>]) -> Vec<Entry> {
    let entries = headers.iter().enumerate().flat_map(|(file, header)| {
        header.tensors.iter().map(move |tensor| Entry {
            name: published(tensor.name),
            shape: tensor.shape.clone(),
            stored: tensor.stored,
            transposed: false,
            interleaved: None,
            file,
            range: tensor.range.clone(),
        })
    });
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by(|a, b| (&a.name, a.file).cmp(&(&b.name, b.file)));
    entries
}

fn view<'a>(entry: &'a Entry, held: &'a [Bytes]) -> Tensor<'a> {
    Tensor {
        name: &entry.name,
        shape: &entry.shape,
        stored: entry.stored,
        transposed: false,
        interleaved: None,
        bytes: &held[entry.file][entry.range.clone()],
    }
}
