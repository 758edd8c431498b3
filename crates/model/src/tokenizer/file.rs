//! `tokenizer.json` and `tokenizer_config.json`, judged as a whole: every mismatch is found before one is refused.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use serde_json::value::RawValue;
use tokenizers::models::bpe::BPE;

use super::added::AddedToken;
use super::config::{self, NamedTokens};
use super::model::Model;
use super::pieces::Pieces;
use super::vocabulary::{Spelling, Vocabulary};
use super::{components, decoder};
use crate::{Code, Finding, Refusal, json};

/// Everything the two files say.
pub(super) struct Parts {
    pub(super) pieces: Pieces,
    pub(super) model: BPE,
    pub(super) added: Vec<AddedToken>,
    pub(super) vocabulary: Vocabulary,
    pub(super) spelling: Spelling,
    pub(super) prefix: Vec<u32>,
    pub(super) named: NamedTokens,
}

/// An object whose values are not parsed yet: most of the file is the vocabulary, which is read once.
pub(super) type Sections<'j> = BTreeMap<String, &'j RawValue>;

const SECTIONS: [&str; 9] = [
    "version",
    "truncation",
    "padding",
    "added_tokens",
    "normalizer",
    "pre_tokenizer",
    "post_processor",
    "decoder",
    "model",
];

/// Reads the two files.
///
/// # Errors
/// [`Code::TokenizerInvalid`] with every finding.
pub(super) fn read(text: &[u8], config: Option<&Value>) -> Result<Parts, Refusal> {
    let refuse = |findings| Refusal::with_findings(Code::TokenizerInvalid, findings);
    let sections: Sections<'_> = serde_json::from_slice(text)
        .map_err(|error| refuse(vec![Finding::new("tokenizer.json", "a JSON object", error)]))?;
    let mut findings = Vec::new();
    close(&sections, &SECTIONS, "", &mut findings);
    for off in ["truncation", "padding"] {
        if let Some(value) = parse::<Value>(&sections, "", off, &mut findings) {
            findings.push(Finding::new(off, "null: nothing is cut or filled", json::show(&value)));
        }
    }
    let normalizer = parse::<Value>(&sections, "", "normalizer", &mut findings);
    let pre_tokenizer = parse::<Value>(&sections, "", "pre_tokenizer", &mut findings);
    let decoder = parse::<Value>(&sections, "", "decoder", &mut findings);
    let post_processor = parse::<Value>(&sections, "", "post_processor", &mut findings);
    let pieces = components::pieces(normalizer.as_ref(), pre_tokenizer.as_ref(), &mut findings);
    let spelling = decoder::spelling(decoder.as_ref(), &mut findings);
    let mut prefix = decoder::prefix(post_processor.as_ref(), &mut findings);
    let model = Model::read(sections.get("model").copied(), &mut findings);
    let mut added =
        parse::<Vec<AddedToken>>(&sections, "", "added_tokens", &mut findings).unwrap_or_default();
    let named = match config {
        Some(config) => config::read(config, &mut added, &mut prefix, &mut findings),
        None => NamedTokens::default(),
    };
    check_added(&mut added, &model, &pieces, &mut findings);
    check_byte_level(&pieces, spelling.as_ref(), &mut findings);
    model.check_merges(&mut added, &mut findings);
    let vocabulary = spelling.as_ref().and_then(|spelling| model.tabulate(&added, spelling, &mut findings));
    if let Some(vocabulary) = &vocabulary {
        for id in prefix.iter().filter(|id| vocabulary.bytes(**id).is_none()) {
            findings.push(Finding::new("post_processor", "ids of the vocabulary", id));
        }
    }
    let (Some(spelling), Some(vocabulary), true) = (spelling, vocabulary, findings.is_empty()) else {
        return Err(refuse(findings));
    };
    let model = model.build(&added).map_err(|error| refuse(vec![error]))?;
    Ok(Parts { pieces, model, added, vocabulary, spelling, prefix, named })
}

/// Names the sections that are not known.
pub(super) fn close(sections: &Sections<'_>, known: &[&str], path: &str, findings: &mut Vec<Finding>) {
    for key in sections.keys().filter(|key| !known.contains(&key.as_str())) {
        findings.push(Finding::new(format!("{path}{key}"), "no such field", "one"));
    }
}

/// The section as a `T`, `None` when it is absent or null.
pub(super) fn parse<T: serde::de::DeserializeOwned>(
    sections: &Sections<'_>,
    path: &str,
    key: &str,
    findings: &mut Vec<Finding>,
) -> Option<T> {
    let section = sections.get(key)?;
    match serde_json::from_str::<Option<T>>(section.get()) {
        Ok(value) => value,
        Err(error) => {
            findings.push(Finding::new(format!("{path}{key}"), "values of the documented types", error));
            None
        }
    }
}

/// Added tokens agree with one another, with the vocabulary, and with the normalizer.
fn check_added(added: &mut [AddedToken], model: &Model, pieces: &Pieces, findings: &mut Vec<Finding>) {
    added.sort_by_key(|token| token.id);
    let (mut contents, mut previous) = (BTreeSet::new(), None);
    for token in added.iter() {
        let path = format!("added_tokens {:?}", token.content);
        if token.content.is_empty() {
            findings.push(Finding::new(&path, "a text", "an empty one"));
        }
        if !contents.insert(&token.content) || previous == Some(token.id) {
            findings.push(Finding::new(&path, "one entry for each id and text", "two"));
        }
        previous = Some(token.id);
        if let Some(id) = model.id_of(&token.content).filter(|id| *id != token.id) {
            findings.push(Finding::new(&path, format!("id {id}, as in model.vocab"), token.id));
        }
        if token.normalized && !pieces.keeps(&token.content) {
            let expected = "normalized: false, for the normalizer changes this text";
            findings.push(Finding::new(&path, expected, "normalized: true"));
        }
    }
}

/// Bytes go in as they come out.
fn check_byte_level(pieces: &Pieces, spelling: Option<&Spelling>, findings: &mut Vec<Finding>) {
    let byte_level = spelling == Some(&Spelling::ByteLevel);
    if spelling.is_some() && findings.is_empty() && pieces.ends_in_bytes() != byte_level {
        let (inward, outward) = if byte_level { ("no", "a") } else { ("a", "no") };
        let got = format!("{inward} ByteLevel step there and {outward} ByteLevel decoder");
        findings.push(Finding::new("pre_tokenizer", "the counterpart of the decoder", got));
    }
}
