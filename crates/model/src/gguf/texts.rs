//! From metadata to the texts beside the weights: `tokenizer.json`, `tokenizer_config.json` and the chat template, as a
//! published checkpoint has them. What reads those judges the rest.

use std::borrow::Cow;

use serde_json::{Map, Value as Json, json};

use super::metadata::Metadata;
use super::pre::{PRE, Pre};
use super::sentencepiece;
use crate::checkpoint::TemplateSource;
use crate::checkpoint::texts::Texts;
use crate::{Code, Finding, Refusal};

/// Where the template is.
pub(crate) const TEMPLATE: &str = "tokenizer.chat_template";

/// Keys `tokenizer.ggml.…` that are read, or that change nothing.
const KEYS: [&str; 33] = [
    "model",
    "pre",
    "tokens",
    "token_type",
    "scores",
    "merges",
    "add_bos_token",
    "add_eos_token",
    "add_space_prefix",
    "bos_token_id",
    "eos_token_id",
    "eot_token_id",
    "eom_token_id",
    "unknown_token_id",
    "padding_token_id",
    "seperator_token_id",
    "separator_token_id",
    "cls_token_id",
    "mask_token_id",
    "add_sep_token",
    "token_type_count",
    "prefix_token_id",
    "suffix_token_id",
    "middle_token_id",
    "fim_pre_token_id",
    "fim_suf_token_id",
    "fim_mid_token_id",
    "fim_pad_token_id",
    "fim_rep_token_id",
    "fim_sep_token_id",
    "added_tokens",
    "remove_extra_whitespaces",
    "escape_whitespaces",
];

/// Types of tokens, as GGUF numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum TokenType {
    Normal = 1,
    /// Stands for text that no token spells.
    Unknown = 2,
    Control = 3,
    /// Cut out of a text as it is.
    UserDefined = 4,
    /// Not a token: a row of the embedding without one.
    Unused = 5,
    /// One byte, `<0x0A>`.
    Byte = 6,
}

impl TokenType {
    fn of(number: f64) -> Option<Self> {
        use TokenType::{Byte, Control, Normal, Unknown, Unused, UserDefined};
        let all = [Normal, Unknown, Control, UserDefined, Unused, Byte];
        all.into_iter().find(|kind| f64::from(*kind as i32) == number)
    }
}

/// The mark that stands for a space in a SentencePiece vocabulary.
const MARK: &str = "▁";

/// The texts of a file. Without a vocabulary there is no tokenizer, and the model is used with ids alone.
///
/// # Errors
/// `tokenizer_invalid` with everything that is not understood.
pub(crate) fn read(metadata: &Metadata<'_>) -> Result<Texts, Refusal> {
    let mut findings = Vec::new();
    let template = metadata.text(TEMPLATE, &mut findings);
    let mut texts =
        Texts { template: template.map(|text| (text.to_owned(), TemplateSource::Gguf)), ..Texts::default() };
    for (key, value) in metadata.iter() {
        if let Some(name) = key.strip_prefix("tokenizer.ggml.").filter(|name| !KEYS.contains(name)) {
            findings.push(Finding::new(
                format!("tokenizer.ggml.{name}"),
                "a key whose meaning is known",
                value.show(),
            ));
        }
    }
    let model = metadata.text("tokenizer.ggml.model", &mut findings);
    let made = match model {
        None | Some("none" | "no_vocab") => None,
        Some(model) => Vocabulary::read(metadata, &mut findings).and_then(|vocabulary| match model {
            "gpt2" => byte_level(metadata, &vocabulary, &mut findings),
            "llama" => sentence_piece(metadata, &vocabulary, &mut findings),
            other => {
                findings.push(Finding::new("tokenizer.ggml.model", "gpt2 or llama", other));
                None
            }
        }),
    };
    Refusal::check(Code::TokenizerInvalid, findings)?;
    if let Some((tokenizer, config)) = made {
        texts.tokenizer_json = Some(Cow::Owned(tokenizer.to_string().into_bytes()));
        texts.tokenizer_config = Some(config);
    }
    Ok(texts)
}

/// The tokens and what is said of each.
struct Vocabulary<'a> {
    tokens: Vec<&'a str>,
    types: Vec<TokenType>,
}

impl<'a> Vocabulary<'a> {
    fn read(metadata: &Metadata<'a>, findings: &mut Vec<Finding>) -> Option<Self> {
        let missing = |key: &str, findings: &mut Vec<Finding>| {
            if metadata.get(key).is_none() {
                findings.push(Finding::new(key, "a list, one entry a token", "absent"));
            }
        };
        missing("tokenizer.ggml.tokens", findings);
        missing("tokenizer.ggml.token_type", findings);
        let tokens = metadata.texts("tokenizer.ggml.tokens", findings)?;
        let numbers = metadata.numbers("tokenizer.ggml.token_type", findings)?;
        let types: Vec<_> = numbers.iter().map_while(|number| TokenType::of(*number)).collect();
        if let Some(other) = numbers.get(types.len()) {
            findings.push(Finding::new("tokenizer.ggml.token_type", "types from 1 to 6", other));
            return None;
        }
        if types.len() != tokens.len() {
            let expected = format!("{}, one for each token", tokens.len());
            findings.push(Finding::new("tokenizer.ggml.token_type", expected, types.len()));
            return None;
        }
        let mut sorted: Vec<_> =
            tokens.iter().zip(&types).filter(|(_, kind)| **kind != TokenType::Unused).collect();
        sorted.sort_unstable_by_key(|(text, _)| **text);
        let twice = sorted.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].0);
        let twice = twice
            .map(|text| Finding::new("tokenizer.ggml.tokens", "each text once", format!("{text:?} twice")));
        let before = findings.len();
        findings.extend(twice.take(8));
        (findings.len() == before).then_some(Self { tokens, types })
    }

    /// Id, text and type of every token that is used.
    fn used(&self) -> impl Iterator<Item = (u32, &'a str, TokenType)> {
        let each = self.tokens.iter().zip(&self.types).enumerate();
        each.filter(|(_, (_, kind))| **kind != TokenType::Unused)
            .map(|(id, (text, kind))| (id as u32, *text, *kind))
    }

    /// `model.vocab`.
    fn json(&self) -> Map<String, Json> {
        self.used().map(|(id, text, _)| (text.to_owned(), id.into())).collect()
    }

    /// The token that a key names.
    fn named(
        &self,
        metadata: &Metadata<'_>,
        key: &str,
        findings: &mut Vec<Finding>,
    ) -> Option<(u32, &'a str)> {
        let id = metadata.size(key, findings)?;
        let token = self.tokens.get(id).filter(|_| self.types[id] != TokenType::Unused);
        if token.is_none() {
            findings.push(Finding::new(key, format!("an id below {}", self.tokens.len()), id));
        }
        token.map(|text| (id as u32, *text))
    }

    /// `added_tokens`: those that stand for something else than their text, or are cut out of it as they are. `named` are
    /// among them whatever their type.
    fn added(&self, named: &[u32]) -> Vec<Json> {
        let is_added = |id: u32, kind: TokenType| {
            matches!(kind, TokenType::Unknown | TokenType::Control | TokenType::UserDefined)
                || named.contains(&id)
        };
        let added = self.used().filter(|(id, text, kind)| is_added(*id, *kind) && !text.is_empty());
        added
            .map(|(id, text, kind)| {
                json!({
                    "id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false,
                    "normalized": false, "special": kind != TokenType::UserDefined || named.contains(&id),
                })
            })
            .collect()
    }

    /// `tokenizer_config.json` and the ids it names.
    fn config(
        &self,
        metadata: &Metadata<'_>,
        adds_bos: bool,
        findings: &mut Vec<Finding>,
    ) -> (Json, Vec<u32>) {
        let mut config = Map::new();
        let mut ids = Vec::new();
        let keys = [
            ("bos", "bos"),
            ("eos", "eos"),
            ("padding", "pad"),
            ("unknown", "unk"),
            ("eot", ""),
            ("eom", ""),
        ];
        for (key, name) in keys {
            let named = self.named(metadata, &format!("tokenizer.ggml.{key}_token_id"), findings);
            let Some((id, text)) = named else { continue };
            if !matches!(key, "padding" | "unknown") {
                ids.push(id);
            }
            if !name.is_empty() {
                config.insert(format!("{name}_token"), text.into());
            }
        }
        let adds_bos = metadata.flag("tokenizer.ggml.add_bos_token", findings).unwrap_or(adds_bos);
        if adds_bos && !config.contains_key("bos_token") {
            findings.push(Finding::new(
                "tokenizer.ggml.bos_token_id",
                "an id, for every text begins with it",
                "absent",
            ));
        }
        config.insert("add_bos_token".to_owned(), adds_bos.into());
        if metadata.flag("tokenizer.ggml.add_eos_token", findings) == Some(true) {
            findings.push(Finding::new("tokenizer.ggml.add_eos_token", "false: a prompt does not end", true));
        }
        (Json::Object(config), ids)
    }
}

/// A byte-level vocabulary with merges.
fn byte_level(
    metadata: &Metadata<'_>,
    vocabulary: &Vocabulary<'_>,
    findings: &mut Vec<Finding>,
) -> Option<(Json, Json)> {
    let merges = metadata.texts("tokenizer.ggml.merges", findings);
    if merges.is_none() && metadata.get("tokenizer.ggml.merges").is_none() {
        findings.push(Finding::new("tokenizer.ggml.merges", "a list of merges", "absent"));
    }
    let name = metadata.text("tokenizer.ggml.pre", findings);
    let pre = name.and_then(Pre::named);
    if pre.is_none() {
        let names: Vec<_> = PRE.iter().flat_map(|pre| pre.names).copied().collect();
        let got = name.unwrap_or("absent");
        findings.push(Finding::new("tokenizer.ggml.pre", format!("one of {}", names.join(", ")), got));
    }
    let (merges, pre) = (merges?, pre?);
    let (config, ids) = vocabulary.config(metadata, pre.adds_bos, findings);
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": vocabulary.added(&ids),
        "normalizer": null,
        "pre_tokenizer": pre.json(),
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "fuse_unk": false, "byte_fallback": false,
            "ignore_merges": pre.ignores_merges, "vocab": vocabulary.json(), "merges": merges,
        },
    });
    Some((tokenizer, config))
}

/// A SentencePiece vocabulary with scores; what has no token is spelled by bytes.
fn sentence_piece(
    metadata: &Metadata<'_>,
    vocabulary: &Vocabulary<'_>,
    findings: &mut Vec<Finding>,
) -> Option<(Json, Json)> {
    let key = "tokenizer.ggml.scores";
    let scores = metadata.numbers(key, findings).unwrap_or_default();
    if scores.len() != vocabulary.tokens.len() {
        findings.push(Finding::new(
            key,
            format!("{}, one for each token", vocabulary.tokens.len()),
            scores.len(),
        ));
        return None;
    }
    let (config, ids) = vocabulary.config(metadata, true, findings);
    let words =
        vocabulary.used().filter(|(_, _, kind)| matches!(kind, TokenType::Normal | TokenType::UserDefined));
    let words: Vec<_> = words.map(|(id, text, _)| (id, text, scores[id as usize])).collect();
    let merges: Vec<Json> = sentencepiece::merges(&words, findings)
        .into_iter()
        .map(|(left, right)| json!([left, right]))
        .collect();
    let prefix = metadata.flag("tokenizer.ggml.add_space_prefix", findings).unwrap_or(true);
    let mut normalizers = vec![json!({"type": "Replace", "pattern": {"String": " "}, "content": MARK})];
    let mut decoders = vec![
        json!({"type": "Replace", "pattern": {"String": MARK}, "content": " "}),
        json!({"type": "ByteFallback"}),
        json!({"type": "Fuse"}),
    ];
    if prefix {
        normalizers.insert(0, json!({"type": "Prepend", "prepend": MARK}));
        decoders.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
    }
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": vocabulary.added(&ids),
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": null,
        "post_processor": null,
        "decoder": {"type": "Sequence", "decoders": decoders},
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "fuse_unk": true, "byte_fallback": true,
            "ignore_merges": false, "vocab": vocabulary.json(), "merges": merges,
        },
    });
    Some((tokenizer, config))
}
