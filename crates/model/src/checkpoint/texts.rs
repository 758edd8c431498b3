//! The texts beside the weights: tokenizer, its settings, and the chat template.
//!
//! The template may be in four places; the first of [`TemplateSource`] that states one is used.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::folder::Folder;
use crate::{Code, Refusal, json};

/// Where the chat template was found, in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TemplateSource {
    /// `chat_template.jinja`, the newest form.
    JinjaFile,
    /// `chat_template` in `chat_template.json`.
    JsonFile,
    /// `chat_template` in `tokenizer_config.json`, a text.
    TokenizerConfig,
    /// The entry named `default` of the list `chat_template` in `tokenizer_config.json`.
    TokenizerConfigDefault,
    /// `tokenizer.chat_template` in the metadata of a GGUF file.
    Gguf,
}

impl fmt::Display for TemplateSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::JinjaFile => JINJA,
            Self::JsonFile => JSON,
            Self::TokenizerConfig => TOKENIZER_CONFIG,
            Self::Gguf => "tokenizer.chat_template of the GGUF file",
            Self::TokenizerConfigDefault => "tokenizer_config.json, the template named `default`",
        })
    }
}

pub(crate) const TOKENIZER: &str = "tokenizer.json";
pub(crate) const TOKENIZER_CONFIG: &str = "tokenizer_config.json";
pub(crate) const JINJA: &str = "chat_template.jinja";
pub(crate) const JSON: &str = "chat_template.json";
const KEY: &str = "chat_template";

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    pub(crate) tokenizer_json: Option<Cow<'static, [u8]>>,
    pub(crate) tokenizer_config: Option<Value>,
    pub(crate) template: Option<(String, TemplateSource)>,
}

impl Texts {
    /// Reads every text of the folder. A part that cannot be read is refused and left out.
    pub(crate) fn read(folder: &Folder, refusals: &mut Vec<Refusal>) -> Self {
        let mut keep = |refusal: Refusal, name: &str| {
            refusals.push(if refusal.place().is_some() { refusal } else { refusal.at(folder.place(name)) });
        };
        let tokenizer_json = folder.text(TOKENIZER).unwrap_or_else(|r| {
            keep(r, TOKENIZER);
            None
        });
        let tokenizer_config = object(folder, TOKENIZER_CONFIG, Code::TokenizerInvalid).unwrap_or_else(|r| {
            keep(r, TOKENIZER_CONFIG);
            None
        });
        let template = template(folder, tokenizer_config.as_ref()).unwrap_or_else(|r| {
            keep(r, "");
            None
        });
        Self { tokenizer_json, tokenizer_config, template }
    }
}

/// A JSON object, if the file is there.
fn object(folder: &Folder, name: &str, code: Code) -> Result<Option<Value>, Refusal> {
    let Some(text) = folder.text(name)? else { return Ok(None) };
    let object = json::object(&text)
        .map_err(|e| Refusal::new(code, name, "a JSON object", e).at(folder.place(name)))?;
    Ok(Some(Value::Object(object)))
}

fn template(
    folder: &Folder,
    tokenizer_config: Option<&Value>,
) -> Result<Option<(String, TemplateSource)>, Refusal> {
    let invalid = |name: &str, expected: &str, got: String| {
        Refusal::new(Code::TemplateInvalid, KEY, expected, got).at(folder.place(name))
    };
    if let Some(bytes) = folder.text(JINJA)? {
        let text =
            String::from_utf8(bytes.into_owned()).map_err(|e| invalid(JINJA, "UTF-8", e.to_string()))?;
        return Ok(Some((text, TemplateSource::JinjaFile)));
    }
    if let Some(file) = object(folder, JSON, Code::TemplateInvalid)? {
        return match file.get(KEY) {
            Some(Value::String(text)) => Ok(Some((text.clone(), TemplateSource::JsonFile))),
            other => Err(invalid(JSON, "a text", other.map_or("absent".to_owned(), json::show))),
        };
    }
    match tokenizer_config.and_then(|config| config.get(KEY)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some((text.clone(), TemplateSource::TokenizerConfig))),
        Some(list) => {
            let default = list.as_array().and_then(|list| {
                let entry =
                    list.iter().find(|entry| entry.get("name").is_some_and(|name| name == "default"))?;
                entry.get("template")?.as_str()
            });
            let expected = "a text, or a list with a template named `default`";
            let text = default.ok_or_else(|| invalid(TOKENIZER_CONFIG, expected, json::show(list)))?;
            Ok(Some((text.to_owned(), TemplateSource::TokenizerConfigDefault)))
        }
    }
}
