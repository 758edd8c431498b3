//! `tokenizer.json` and `tokenizer_config.json`, judged as a whole: every mismatch is found before one is refused.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokenizers::models::bpe::{BPE, BpeBuilder};

use super::added::AddedToken;
use super::components;
use super::pieces::Pieces;
use super::vocabulary::{Spelled, Spelling, Vocabulary};
use crate::fields::Fields;
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

/// The tokens `tokenizer_config.json` names by their role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedTokens {
    /// Beginning of sequence.
    pub bos: Option<String>,
    /// End of sequence, or of a turn.
    pub eos: Option<String>,
    /// Padding.
    pub pad: Option<String>,
    /// Stands for text no token can spell.
    pub unk: Option<String>,
}

/// The model section.
#[derive(Default)]
struct Model {
    vocab: BTreeMap<String, u32>,
    merges: Vec<(String, String)>,
    unk_token: Option<String>,
    fuse_unk: bool,
    byte_fallback: bool,
    ignore_merges: bool,
}

/// The two forms in which merges are written.
#[derive(Deserialize)]
#[serde(untagged)]
enum Merges {
    Pairs(Vec<(String, String)>),
    Joined(Vec<String>),
}

type Sections<'j> = BTreeMap<String, &'j RawValue>;

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
        if let Some(value) = parse::<Value>(&sections, off, &mut findings) {
            findings.push(Finding::new(off, "null: nothing is cut or filled", json::show(&value)));
        }
    }
    let normalizer = parse::<Value>(&sections, "normalizer", &mut findings);
    let pre_tokenizer = parse::<Value>(&sections, "pre_tokenizer", &mut findings);
    let decoder = parse::<Value>(&sections, "decoder", &mut findings);
    let post_processor = parse::<Value>(&sections, "post_processor", &mut findings);
    let depth = components::PREFIX_NESTING;
    let pieces = components::pieces(normalizer.as_ref(), pre_tokenizer.as_ref(), &mut findings);
    let spelling = components::spelling(decoder.as_ref(), &mut findings);
    let mut prefix = components::prefix("post_processor", post_processor.as_ref(), depth, &mut findings);
    let model = read_model(&sections, &mut findings);
    let mut added = parse::<Vec<AddedToken>>(&sections, "added_tokens", &mut findings).unwrap_or_default();
    let mut named = NamedTokens::default();
    if let Some(config) = config {
        named = read_config(config, &mut added, &mut prefix, &mut findings);
    }
    check_added(&mut added, &model, &pieces, &mut findings);
    check_byte_level(&pieces, spelling.as_ref(), &mut findings);
    let products = check_merges(&model, &mut findings);
    let vocabulary = spelling
        .as_ref()
        .and_then(|spelling| tabulate(&model, &mut added, &products, spelling, &mut findings));
    if let Some(vocabulary) = &vocabulary {
        for id in prefix.iter().filter(|id| vocabulary.bytes(**id).is_none()) {
            findings.push(Finding::new("post_processor", "ids of the vocabulary", id));
        }
    }
    let (Some(spelling), Some(vocabulary), true) = (spelling, vocabulary, findings.is_empty()) else {
        return Err(refuse(findings));
    };
    let model = build_model(model, &added).map_err(|error| refuse(vec![error]))?;
    Ok(Parts { pieces, model, added, vocabulary, spelling, prefix, named })
}

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

const MODEL: [&str; 10] = [
    "type",
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
    "vocab",
    "merges",
];

/// Names the sections that are not known.
fn close(sections: &Sections<'_>, known: &[&str], path: &str, findings: &mut Vec<Finding>) {
    for key in sections.keys().filter(|key| !known.contains(&key.as_str())) {
        findings.push(Finding::new(format!("{path}{key}"), "no such field", "one"));
    }
}

/// The section as a `T`, `None` when it is absent or null.
fn parse<T: serde::de::DeserializeOwned>(
    sections: &Sections<'_>,
    key: &str,
    findings: &mut Vec<Finding>,
) -> Option<T> {
    let section = sections.get(key)?;
    match serde_json::from_str::<Option<T>>(section.get()) {
        Ok(value) => value,
        Err(error) => {
            findings.push(Finding::new(key, "values of the documented types", error));
            None
        }
    }
}

fn read_model(sections: &Sections<'_>, findings: &mut Vec<Finding>) -> Model {
    let mut model = Model::default();
    let Some(raw) = sections.get("model") else {
        findings.push(Finding::new("model", "a BPE model", "nothing"));
        return model;
    };
    let inner: Sections<'_> = match serde_json::from_str(raw.get()) {
        Ok(inner) => inner,
        Err(error) => {
            findings.push(Finding::new("model", "an object", error));
            return model;
        }
    };
    let kind = parse::<String>(&inner, "type", findings);
    if kind.as_deref() != Some("BPE") {
        findings.push(Finding::new("model.type", "BPE", kind.as_deref().unwrap_or("nothing")));
        return model;
    }
    close(&inner, &MODEL, "model.", findings);
    if let Some(dropout) = parse::<f64>(&inner, "dropout", findings) {
        findings.push(Finding::new("model.dropout", "null: ids are not left to chance", dropout));
    }
    for affix in ["continuing_subword_prefix", "end_of_word_suffix"] {
        if let Some(text) = parse::<String>(&inner, affix, findings).filter(|text| !text.is_empty()) {
            findings.push(Finding::new(format!("model.{affix}"), "null or empty", format!("{text:?}")));
        }
    }
    model.unk_token = parse(&inner, "unk_token", findings);
    model.fuse_unk = parse(&inner, "fuse_unk", findings).unwrap_or(false);
    model.byte_fallback = parse(&inner, "byte_fallback", findings).unwrap_or(false);
    model.ignore_merges = parse(&inner, "ignore_merges", findings).unwrap_or(false);
    match parse(&inner, "vocab", findings) {
        Some(vocab) => model.vocab = vocab,
        None => findings.push(Finding::new("model.vocab", "a table of ids", "nothing")),
    }
    match parse(&inner, "merges", findings) {
        Some(Merges::Pairs(pairs)) => model.merges = pairs,
        Some(Merges::Joined(lines)) => {
            for (rank, line) in lines.iter().enumerate() {
                match line.split_once(' ') {
                    Some((left, right)) => model.merges.push((left.to_owned(), right.to_owned())),
                    None => findings.push(Finding::new(
                        format!("model.merges[{rank}]"),
                        "two tokens with a space between",
                        format!("{line:?}"),
                    )),
                }
            }
        }
        None => findings.push(Finding::new("model.merges", "a list of pairs", "nothing")),
    }
    model
}

/// Reads `tokenizer_config.json`: named tokens, more added tokens, who puts a token before a text.
fn read_config(
    config: &Value,
    added: &mut Vec<AddedToken>,
    prefix: &mut Vec<u32>,
    findings: &mut Vec<Finding>,
) -> NamedTokens {
    if let Some(Value::Object(entries)) = config.get("added_tokens_decoder") {
        for (id, entry) in entries {
            let path = format!("tokenizer_config.json added_tokens_decoder.{id}");
            let Some(mut fields) = Fields::open(&path, entry, findings) else { continue };
            let content = fields.text("content", findings);
            let mut flag = |key| fields.flag(key, false, findings);
            let token = AddedToken {
                id: 0,
                content: content.unwrap_or_default().to_owned(),
                single_word: flag("single_word"),
                lstrip: flag("lstrip"),
                rstrip: flag("rstrip"),
                normalized: flag("normalized"),
                special: flag("special"),
                control: false,
            };
            fields.get("__type");
            fields.close(findings);
            match id.parse() {
                Ok(id) => merge_added(added, AddedToken { id, ..token }, findings),
                Err(_) => findings.push(Finding::new(path, "an id", id)),
            }
        }
    }
    let mut name = |key: &str| match config.get(key) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(value) => {
            let text = value.get("content").and_then(Value::as_str).map(str::to_owned);
            if text.is_none() {
                let what = format!("tokenizer_config.json {key}");
                findings.push(Finding::new(what, "a string, an object with content, or null", value));
            }
            text
        }
    };
    let named = NamedTokens {
        bos: name("bos_token"),
        eos: name("eos_token"),
        pad: name("pad_token"),
        unk: name("unk_token"),
    };
    let flag = |key: &str| config.get(key).and_then(Value::as_bool);
    for refused in ["add_eos_token", "split_special_tokens"] {
        if flag(refused) == Some(true) {
            findings.push(Finding::new(format!("tokenizer_config.json {refused}"), "false", "true"));
        }
    }
    let bos = named.bos.as_ref().and_then(|text| added.iter().find(|token| &token.content == text));
    match (flag("add_bos_token"), bos, prefix.as_slice()) {
        (Some(true), Some(bos), []) => prefix.push(bos.id),
        (Some(true), None, []) => findings.push(Finding::new(
            "tokenizer_config.json add_bos_token",
            "false, for there is no bos_token among the added tokens",
            "true",
        )),
        (Some(false), _, [first, ..]) => findings.push(Finding::new(
            "tokenizer_config.json add_bos_token",
            format!("true, for post_processor of tokenizer.json begins every text with {first}"),
            "false",
        )),
        _ => {}
    }
    named
}

/// Adds a token of the configuration. Where both files know it, `tokenizer.json` decides its flags, but id and
/// content have to agree.
fn merge_added(added: &mut Vec<AddedToken>, token: AddedToken, findings: &mut Vec<Finding>) {
    let known = added.iter().find(|known| known.id == token.id || known.content == token.content);
    match known {
        None => added.push(token),
        Some(known) if known.id == token.id && known.content == token.content => {}
        Some(known) => findings.push(Finding::new(
            format!("tokenizer_config.json added_tokens_decoder.{}", token.id),
            format!("{:?} with id {}, as in tokenizer.json", known.content, known.id),
            format!("{:?}", token.content),
        )),
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
        if let Some(id) = model.vocab.get(&token.content).filter(|id| **id != token.id) {
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

/// Every part and product of a merge is a token. Returns the products.
fn check_merges(model: &Model, findings: &mut Vec<Finding>) -> BTreeSet<u32> {
    let mut products = BTreeSet::new();
    for (rank, (left, right)) in model.merges.iter().enumerate() {
        let product = format!("{left}{right}");
        for part in [left, right, &product] {
            if !model.vocab.contains_key(part) {
                let path = format!("model.merges[{rank}]");
                findings.push(Finding::new(path, "tokens of model.vocab", format!("{part:?}")));
            }
        }
        products.extend(model.vocab.get(&product));
        if findings.len() > 20 {
            break;
        }
    }
    products
}

/// The table of ids, with the control tokens marked.
fn tabulate(
    model: &Model,
    added: &mut [AddedToken],
    products: &BTreeSet<u32>,
    spelling: &Spelling,
    findings: &mut Vec<Finding>,
) -> Option<Vocabulary> {
    let mut tokens = Vec::with_capacity(model.vocab.len() + added.len());
    for token in added.iter_mut() {
        token.control = token.looks_like_control(products.contains(&token.id));
        if token.control && products.contains(&token.id) {
            let path = format!("added_tokens {:?}", token.content);
            findings.push(Finding::new(path, "no merge that makes it from text", "one"));
        }
        let bytes = match spelling {
            Spelling::ByteLevel => token.content.as_bytes().to_vec(),
            Spelling::Marked { .. } => spelling.bytes_of(&token.content),
        };
        tokens.push(Spelled { id: token.id, bytes, control: token.control, special: token.special });
    }
    let mut holders: HashMap<u32, &str> =
        added.iter().map(|token| (token.id, token.content.as_str())).collect();
    for (text, id) in &model.vocab {
        match holders.insert(*id, text) {
            None => tokens.push(Spelled {
                id: *id,
                bytes: spelling.bytes_of(text),
                control: false,
                special: false,
            }),
            Some(other) if other == text => {}
            Some(other) => {
                let expected = format!("one token for id {id}");
                findings.push(Finding::new("model.vocab", expected, format!("{other:?} and {text:?}")));
            }
        }
    }
    Vocabulary::new(tokens, findings)
}

/// The merging model. Control tokens are left out of its vocabulary, so that no text can spell one.
fn build_model(mut model: Model, added: &[AddedToken]) -> Result<BPE, Finding> {
    for token in added.iter().filter(|token| token.control) {
        if model.unk_token.as_ref() != Some(&token.content) {
            model.vocab.remove(&token.content);
        }
    }
    let mut builder = BpeBuilder::new()
        .vocab_and_merges(model.vocab.into_iter().collect::<tokenizers::models::bpe::Vocab>(), model.merges)
        .fuse_unk(model.fuse_unk)
        .byte_fallback(model.byte_fallback)
        .ignore_merges(model.ignore_merges);
    if let Some(unk) = model.unk_token {
        builder = builder.unk_token(unk);
    }
    builder.build().map_err(|error| Finding::new("model", "a vocabulary and merges that fit", error))
}
