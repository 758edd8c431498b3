//! Which ids end a reply, and who says so.
//!
//! Three files may name end ids, and published checkpoints use any of them. The stop set is the union, in the
//! order of [`StopSource`]; nothing is guessed from names of tokens.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Code, Config, GenerationConfig, Refusal, json};

/// Where an end id comes from, in the order the files are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSource {
    /// `eos_token_id` of `generation_config.json`.
    GenerationConfig,
    /// `eos_token_id` of `config.json` (or of the converted form's manifest).
    Config,
    /// `eos_token` of `tokenizer_config.json`, resolved by the added tokens.
    Tokenizer,
}

impl fmt::Display for StopSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GenerationConfig => "generation_config",
            Self::Config => "config",
            Self::Tokenizer => "tokenizer",
        })
    }
}

/// One end id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StopId {
    /// The id.
    pub id: u32,
    /// Everyone who names it, in order.
    pub sources: Vec<StopSource>,
}

/// The ids that end a reply, in the order they are first named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct StopSet {
    entries: Vec<StopId>,
}

impl StopSet {
    /// The union of what each source names.
    pub fn union(sources: impl IntoIterator<Item = (StopSource, Vec<u32>)>) -> Self {
        let mut entries: Vec<StopId> = Vec::new();
        for (source, ids) in sources {
            for id in ids {
                match entries.iter_mut().find(|entry| entry.id == id) {
                    Some(entry) if entry.sources.contains(&source) => {}
                    Some(entry) => entry.sources.push(source),
                    None => entries.push(StopId { id, sources: vec![source] }),
                }
            }
        }
        Self { entries }
    }

    /// Every id with its sources.
    pub fn entries(&self) -> &[StopId] {
        &self.entries
    }

    /// The ids.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = u32> {
        self.entries.iter().map(|entry| entry.id)
    }

    /// Whether `id` ends a reply.
    pub fn contains(&self, id: u32) -> bool {
        self.ids().any(|stop| stop == id)
    }
}

/// The stop set of a checkpoint.
///
/// # Errors
/// `tokenizer_invalid` when `eos_token` is no added token, or one outside the vocabulary.
pub(crate) fn stop_set(
    config: &Config,
    generation: &GenerationConfig,
    tokenizer_config: Option<&Value>,
    tokenizer_json: Option<&[u8]>,
) -> Result<StopSet, Refusal> {
    let named = match tokenizer_config.and_then(eos_token) {
        Some(token) => resolve(token, config.vocab, tokenizer_config, tokenizer_json)?,
        None => None,
    };
    Ok(StopSet::union([
        (StopSource::GenerationConfig, generation.eos.clone()),
        (StopSource::Config, config.eos.clone()),
        (StopSource::Tokenizer, named.into_iter().collect()),
    ]))
}

/// The text of `eos_token`, stated plainly or as an object.
fn eos_token(tokenizer_config: &Value) -> Option<&str> {
    let token = tokenizer_config.get("eos_token")?;
    token.as_str().or_else(|| token.get("content")?.as_str())
}

/// The id of an added token. Without `tokenizer.json` a name that cannot be resolved is left to the other sources,
/// since such a checkpoint is used with ids alone.
fn resolve(
    token: &str,
    vocab: usize,
    tokenizer_config: Option<&Value>,
    tokenizer_json: Option<&[u8]>,
) -> Result<Option<u32>, Refusal> {
    let invalid =
        |expected: &str, got: String| Refusal::new(Code::TokenizerInvalid, "eos_token", expected, got);
    let from_config = tokenizer_config.and_then(|config| {
        let decoder = config.get("added_tokens_decoder")?.as_object()?;
        let (id, _) = decoder.iter().find(|(_, added)| added.get("content").is_some_and(|c| c == token))?;
        id.parse::<u32>().ok()
    });
    let id = match (from_config, tokenizer_json) {
        (Some(id), _) => Some(id),
        (None, None) => return Ok(None),
        (None, Some(text)) => {
            let added: AddedTokens = serde_json::from_slice(text).map_err(|e| {
                Refusal::new(Code::TokenizerInvalid, "added_tokens", "tokens with id and content", e)
                    .at("tokenizer.json")
            })?;
            added.added_tokens.into_iter().find(|added| added.content == token).map(|added| added.id)
        }
    };
    match id {
        Some(id) if (id as usize) < vocab => Ok(Some(id)),
        Some(id) => Err(invalid(&format!("an id below {vocab}, the model's vocabulary"), id.to_string())),
        None => Err(invalid("one of the added tokens", json::show(&token.into()))),
    }
}

/// The one part of `tokenizer.json` that is looked at here.
#[derive(Deserialize)]
struct AddedTokens {
    #[serde(default)]
    added_tokens: Vec<AddedToken>,
}

#[derive(Deserialize)]
struct AddedToken {
    id: u32,
    content: String,
}
