//! What `tokenizer_config.json` adds. It may not contradict `tokenizer.json`.
//!
//! It is not a closed set: most of its keys steer a Python class and mean nothing here.

use serde_json::Value;

use super::added::AddedToken;
use crate::Finding;
use crate::fields::Fields;

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

/// Reads `tokenizer_config.json`: named tokens, more added tokens, who puts a token before a text.
pub(super) fn read(
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
