//! What `tokenizer.json` says about the way out: the decoder, and the post-processor.

use serde_json::Value;

use super::components::{NESTING, literal_pattern, metaspace_fields, too_deep, unknown};
use super::vocabulary::{Lead, Spelling};
use crate::Finding;
use crate::fields::Fields;
use crate::json::show;

/// Reads `decoder`: how a token's string spells bytes.
pub(super) fn spelling(decoder: Option<&Value>, findings: &mut Vec<Finding>) -> Option<Spelling> {
    let path = "decoder";
    let known = "ByteLevel, Metaspace, or a Sequence of Replace, ByteFallback, Fuse and Strip";
    let Some(value) = decoder else {
        findings.push(Finding::new(path, known, "null"));
        return None;
    };
    let mut fields = Fields::open(path, value, findings)?;
    let spelling = match fields.text("type", findings)? {
        "ByteLevel" => {
            for flag in ["add_prefix_space", "trim_offsets", "use_regex"] {
                fields.flag(flag, true, findings);
            }
            Some(Spelling::ByteLevel)
        }
        "Metaspace" => metaspace_fields(&mut fields, findings).map(|(mark, prefix)| Spelling::Marked {
            mark: mark.to_string(),
            byte_fallback: false,
            lead: if prefix { Lead::FirstTokenMarks } else { Lead::Keep },
        }),
        "Sequence" => sequence_spelling(fields.list("decoders", findings), findings),
        kind => {
            unknown(&fields, known, kind, findings);
            return None;
        }
    };
    fields.close(findings);
    spelling
}

/// `Replace` the mark by a space, then optionally `ByteFallback`, `Fuse`, and `Strip` of leading spaces.
fn sequence_spelling(items: &[Value], findings: &mut Vec<Finding>) -> Option<Spelling> {
    const ORDER: [&str; 4] = ["Replace", "ByteFallback", "Fuse", "Strip"];
    if let [only] = items
        && only.get("type").and_then(Value::as_str) == Some("ByteLevel")
    {
        return spelling(Some(only), findings);
    }
    let before = findings.len();
    let (mut mark, mut byte_fallback, mut lead, mut stage) = (None, false, Lead::Keep, 0);
    for (index, item) in items.iter().enumerate() {
        let mut fields = Fields::open(&format!("decoder.decoders[{index}]"), item, findings)?;
        let kind = fields.text("type", findings)?;
        match ORDER.iter().position(|known| *known == kind) {
            Some(position) if position >= stage && (position < 3 || stage == 3) => stage = position + 1,
            _ => unknown(&fields, "Replace, ByteFallback, Fuse, Strip, in this order", kind, findings),
        }
        match kind {
            "Replace" => {
                mark = literal_pattern(&mut fields, findings).map(str::to_owned);
                if let Some(content) = fields.text("content", findings)
                    && content != " "
                {
                    findings.push(Finding::new(fields.at("content"), "a space", format!("{content:?}")));
                }
            }
            "ByteFallback" => byte_fallback = true,
            "Strip" => lead = strip(&mut fields, findings),
            _ => {}
        }
        fields.close(findings);
    }
    if mark.as_deref().is_none_or(str::is_empty) && findings.len() == before {
        findings.push(Finding::new("decoder.decoders", "a Replace of the space mark", "none"));
    }
    Some(Spelling::Marked { mark: mark?, byte_fallback, lead })
}

fn strip(fields: &mut Fields<'_>, findings: &mut Vec<Finding>) -> Lead {
    let content = fields.text("content", findings);
    let start = fields.get("start").and_then(Value::as_u64);
    let stop = fields.get("stop").and_then(Value::as_u64);
    if content != Some(" ") || start.is_none_or(|count| count > 1) || stop != Some(0) {
        let got = format!("content {content:?}, start {start:?}, stop {stop:?}");
        findings.push(Finding::new(fields.at("content"), "one leading space at most", got));
    }
    if start == Some(1) { Lead::OneSpace } else { Lead::Keep }
}

/// Reads `post_processor`: the tokens put before a text. A token after it would end the text, so it is refused.
pub(super) fn prefix(processor: Option<&Value>, findings: &mut Vec<Finding>) -> Vec<u32> {
    processor.map_or_else(Vec::new, |value| nested_prefix("post_processor", value, NESTING, findings))
}

fn nested_prefix(path: &str, value: &Value, depth: usize, findings: &mut Vec<Finding>) -> Vec<u32> {
    if too_deep(path, depth, findings) {
        return Vec::new();
    }
    let Some(mut fields) = Fields::open(path, value, findings) else { return Vec::new() };
    let mut ids = Vec::new();
    match fields.text("type", findings) {
        None => return ids,
        Some("ByteLevel") => {
            for flag in ["add_prefix_space", "trim_offsets", "use_regex"] {
                fields.flag(flag, true, findings);
            }
        }
        Some("Sequence") => {
            for (index, item) in fields.list("processors", findings).iter().enumerate() {
                ids.extend(nested_prefix(&format!("{path}.processors[{index}]"), item, depth - 1, findings));
            }
        }
        Some("TemplateProcessing") => ids = template_prefix(&mut fields, findings),
        Some(kind) => unknown(&fields, "ByteLevel, TemplateProcessing, Sequence", kind, findings),
    }
    fields.close(findings);
    ids
}

fn template_prefix(fields: &mut Fields<'_>, findings: &mut Vec<Finding>) -> Vec<u32> {
    fields.get("pair");
    let specials = fields.get("special_tokens").unwrap_or(&Value::Null);
    let (mut ids, mut text_seen) = (Vec::new(), false);
    for (index, item) in fields.list("single", findings).iter().enumerate() {
        let path = fields.at(&format!("single[{index}]"));
        let id = item.pointer("/SpecialToken/id").and_then(Value::as_str);
        match id {
            None if item.pointer("/Sequence/id").and_then(Value::as_str) == Some("A") && !text_seen => {
                text_seen = true;
            }
            None => findings.push(Finding::new(path, "a special token, or the text once", show(item))),
            Some(name) if text_seen => {
                findings.push(Finding::new(path, "no token after the text", name));
            }
            Some(name) => {
                let listed = specials.get(name).and_then(|entry| entry.get("ids")).and_then(Value::as_array);
                let found: Option<Vec<u32>> = listed.and_then(|list| {
                    list.iter().map(|id| id.as_u64().and_then(|id| u32::try_from(id).ok())).collect()
                });
                match found {
                    Some(found) => ids.extend(found),
                    None => findings.push(Finding::new(path, "an entry in special_tokens", name)),
                }
            }
        }
    }
    ids
}
