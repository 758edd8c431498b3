//! The closed set of normalizers and pre-tokenizers `tokenizer.json` may name, and the settings of each that are
//! understood.

use serde_json::Value;
use tokenizers::{PreTokenizerWrapper, SplitDelimiterBehavior};

use super::pieces::{Pieces, Splitter, Step};
use crate::Finding;
use crate::fields::Fields;
use crate::json::show;

/// The words that GPT-2 cuts, for `ByteLevel` with `use_regex`.
const GPT2_WORDS: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// Sequences may hold sequences, but only to this depth.
pub(super) const NESTING: usize = 4;

/// Reads `normalizer` and `pre_tokenizer`.
pub(super) fn pieces(
    normalizer: Option<&Value>,
    pre_tokenizer: Option<&Value>,
    findings: &mut Vec<Finding>,
) -> Pieces {
    let mut pieces = Pieces::default();
    if let Some(value) = normalizer {
        check_normalizer("normalizer", value, NESTING, findings);
        pieces.normalizer = build("normalizer", value, findings);
    }
    if let Some(value) = pre_tokenizer {
        add_steps("pre_tokenizer", value, NESTING, &mut pieces.steps, findings);
    }
    pieces
}

/// The component as the `tokenizers` crate builds it, unless something was found before.
fn build<T: serde::de::DeserializeOwned>(
    path: &str,
    value: &Value,
    findings: &mut Vec<Finding>,
) -> Option<T> {
    if !findings.is_empty() {
        return None;
    }
    match serde_json::from_value(value.clone()) {
        Ok(built) => Some(built),
        Err(error) => {
            findings.push(Finding::new(path, "a component that can be built", error));
            None
        }
    }
}

/// Names a component type outside the set.
pub(super) fn unknown(fields: &Fields<'_>, known: &str, kind: &str, findings: &mut Vec<Finding>) {
    findings.push(Finding::new(fields.at("type"), format!("one of {known}"), kind));
}

/// Names the depth when sequences are nested too deeply.
pub(super) fn too_deep(path: &str, depth: usize, findings: &mut Vec<Finding>) -> bool {
    if depth == 0 {
        findings.push(Finding::new(path, format!("at most {NESTING} nested sequences"), "more"));
    }
    depth == 0
}

fn check_normalizer(path: &str, value: &Value, depth: usize, findings: &mut Vec<Finding>) {
    if too_deep(path, depth, findings) {
        return;
    }
    let Some(mut fields) = Fields::open(path, value, findings) else { return };
    match fields.text("type", findings) {
        None => return,
        Some("NFC" | "NFD" | "NFKC" | "NFKD") => {}
        Some("Prepend") => {
            fields.text("prepend", findings);
        }
        Some("Replace") => {
            literal_pattern(&mut fields, findings);
            fields.text("content", findings);
        }
        Some("Sequence") => {
            for (index, item) in fields.list("normalizers", findings).iter().enumerate() {
                check_normalizer(&format!("{path}.normalizers[{index}]"), item, depth - 1, findings);
            }
        }
        Some(kind) => {
            return unknown(&fields, "NFC, NFD, NFKC, NFKD, Prepend, Replace, Sequence", kind, findings);
        }
    }
    fields.close(findings);
}

/// A `pattern` that is a plain string.
pub(super) fn literal_pattern<'v>(fields: &mut Fields<'v>, findings: &mut Vec<Finding>) -> Option<&'v str> {
    let value = fields.get("pattern");
    let text = value.and_then(|pattern| only(pattern, "String"));
    if text.is_none() {
        let got = value.map_or_else(|| "nothing".to_owned(), show);
        findings.push(Finding::new(fields.at("pattern"), "{\"String\": text}", got));
    }
    text
}

/// The string under `key` of an object that has no other field.
fn only<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.as_object().filter(|object| object.len() == 1)?.get(key)?.as_str()
}

fn add_steps(path: &str, value: &Value, depth: usize, steps: &mut Vec<Step>, findings: &mut Vec<Finding>) {
    if too_deep(path, depth, findings) {
        return;
    }
    let Some(mut fields) = Fields::open(path, value, findings) else { return };
    match fields.text("type", findings) {
        None => return,
        Some("Sequence") => {
            for (index, item) in fields.list("pretokenizers", findings).iter().enumerate() {
                add_steps(&format!("{path}.pretokenizers[{index}]"), item, depth - 1, steps, findings);
            }
        }
        Some("Split") => steps.extend(split_step(&mut fields, findings)),
        Some("ByteLevel") => {
            let prefix = fields.flag("add_prefix_space", true, findings);
            fields.flag("trim_offsets", true, findings);
            if prefix {
                steps.push(Step::PrefixSpace);
            }
            if fields.flag("use_regex", true, findings) {
                steps.extend(compile(path, Splitter::regex(GPT2_WORDS), findings).map(|pattern| {
                    Step::Split { pattern, behavior: SplitDelimiterBehavior::Isolated, invert: false }
                }));
            }
            let bytes = tokenizers::pre_tokenizers::byte_level::ByteLevel::new(false, false, false);
            steps.push(Step::Plain(PreTokenizerWrapper::ByteLevel(bytes)));
        }
        Some("Digits") => {
            fields.flag("individual_digits", false, findings);
            steps.extend(build(path, value, findings).map(Step::Plain));
        }
        Some("Punctuation") => {
            behavior(&mut fields, findings);
            steps.extend(build(path, value, findings).map(Step::Plain));
        }
        Some("Metaspace") => steps.extend(metaspace_step(path, value, &mut fields, findings)),
        Some(kind) => {
            let known = "Sequence, Split, ByteLevel, Digits, Punctuation, Metaspace";
            return unknown(&fields, known, kind, findings);
        }
    }
    fields.close(findings);
}

fn compile(path: &str, built: Result<Splitter, String>, findings: &mut Vec<Finding>) -> Option<Splitter> {
    built.map_err(|error| findings.push(Finding::new(path, "a regular expression that compiles", error))).ok()
}

fn split_step(fields: &mut Fields<'_>, findings: &mut Vec<Finding>) -> Option<Step> {
    let path = fields.at("pattern");
    let value = fields.get("pattern").unwrap_or(&Value::Null);
    let pattern = match (only(value, "Regex"), only(value, "String")) {
        (Some(expression), _) => compile(&path, Splitter::regex(expression), findings),
        (_, Some(text)) => compile(&path, Splitter::literal(text), findings),
        _ => {
            findings.push(Finding::new(path, "{\"Regex\": pattern} or {\"String\": text}", show(value)));
            None
        }
    };
    let behavior = behavior(fields, findings);
    let invert = fields.flag("invert", false, findings);
    Some(Step::Split { pattern: pattern?, behavior: behavior?, invert })
}

fn behavior(fields: &mut Fields<'_>, findings: &mut Vec<Finding>) -> Option<SplitDelimiterBehavior> {
    match fields.text("behavior", findings)? {
        "Removed" => Some(SplitDelimiterBehavior::Removed),
        "Isolated" => Some(SplitDelimiterBehavior::Isolated),
        "MergedWithPrevious" => Some(SplitDelimiterBehavior::MergedWithPrevious),
        "MergedWithNext" => Some(SplitDelimiterBehavior::MergedWithNext),
        "Contiguous" => Some(SplitDelimiterBehavior::Contiguous),
        other => {
            let known = "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous";
            findings.push(Finding::new(fields.at("behavior"), known, other));
            None
        }
    }
}

/// `Metaspace` puts its mark before the first piece, before every piece, or before none.
fn metaspace_step(
    path: &str,
    value: &Value,
    fields: &mut Fields<'_>,
    findings: &mut Vec<Finding>,
) -> Option<Step> {
    use tokenizers::pre_tokenizers::metaspace::PrependScheme;
    metaspace_fields(fields, findings);
    let Some(PreTokenizerWrapper::Metaspace(start)) = build(path, value, findings) else { return None };
    let mut later = start.clone();
    if later.prepend_scheme == PrependScheme::First {
        later.prepend_scheme = PrependScheme::Never;
    }
    Some(Step::ByPosition {
        start: PreTokenizerWrapper::Metaspace(start),
        later: PreTokenizerWrapper::Metaspace(later),
    })
}

/// The mark, and whether it is put before the first piece.
pub(super) fn metaspace_fields(fields: &mut Fields<'_>, findings: &mut Vec<Finding>) -> Option<(char, bool)> {
    let mark = fields.text("replacement", findings)?;
    let marks: Vec<char> = mark.chars().collect();
    if marks.len() != 1 {
        findings.push(Finding::new(fields.at("replacement"), "one character", mark));
    }
    fields.flag("split", true, findings);
    let add_prefix = fields.flag("add_prefix_space", true, findings);
    let scheme = fields.get("prepend_scheme").map_or(Some("always"), Value::as_str);
    if !matches!(scheme, Some("first" | "always" | "never")) {
        let got = scheme.unwrap_or("no string");
        findings.push(Finding::new(fields.at("prepend_scheme"), "first, always or never", got));
    }
    fields.get("str_rep");
    Some((*marks.first()?, add_prefix && scheme != Some("never")))
}
