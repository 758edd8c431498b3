//! Pre-tokenizers of byte-level vocabularies, by the names GGUF gives them.
//!
//! A name stands for patterns that cut a text one after the other, each what the ones before left whole. The files of a
//! published checkpoint state the pattern itself; here it is known by its name alone, so an unknown name is refused.

use serde_json::{Value as Json, json};

/// A pre-tokenizer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pre {
    /// Names it goes by.
    pub(crate) names: &'static [&'static str],
    /// Patterns whose matches become words.
    patterns: &'static [&'static str],
    /// Whether a word that is a token is taken as it is.
    pub(crate) ignores_merges: bool,
    /// Whether a text begins with the beginning-of-sequence token where the file does not say.
    pub(crate) adds_bos: bool,
}

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// Every pre-tokenizer that is known.
pub(crate) const PRE: &[Pre] = &[
    Pre {
        names: &["default"],
        patterns: &[r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", "[0-9][0-9][0-9]"],
        ignores_merges: false,
        adds_bos: false,
    },
    Pre {
        names: &["llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral"],
        patterns: &[
            r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        ignores_merges: true,
        adds_bos: true,
    },
    Pre {
        names: &["qwen2", "deepseek-r1-qwen", "stablelm2", "megrez"],
        patterns: &[
            r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        ignores_merges: false,
        adds_bos: false,
    },
    Pre {
        names: &["gpt-2", "phi-2", "mpt", "olmo"],
        patterns: &[GPT2],
        ignores_merges: false,
        adds_bos: false,
    },
    Pre {
        names: &["smollm", "starcoder", "refact", "command-r", "codeshell", "exaone"],
        patterns: &[r"\p{N}", GPT2],
        ignores_merges: false,
        adds_bos: false,
    },
    Pre {
        names: &["tekken"],
        patterns: &[
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        ],
        ignores_merges: true,
        adds_bos: true,
    },
];

impl Pre {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        PRE.iter().find(|pre| pre.names.contains(&name))
    }

    /// As `tokenizer.json` states it.
    pub(super) fn json(&self) -> Json {
        let split = |pattern: &&str| json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
        let mut steps: Vec<Json> = self.patterns.iter().map(split).collect();
        steps.push(json!({
            "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false,
        }));
        json!({"type": "Sequence", "pretokenizers": steps})
    }

    /// The one that `tokenizer.json` states as `pre_tokenizer`.
    pub(crate) fn of(stated: &Json, ignores_merges: bool) -> Option<&'static Self> {
        let steps = match stated["pretokenizers"].as_array() {
            Some(steps) => steps.as_slice(),
            None => std::slice::from_ref(stated),
        };
        let mut patterns = Vec::new();
        for step in steps {
            match step["type"].as_str()? {
                "Split" if step["behavior"] == "Isolated" && step["invert"] != true => {
                    patterns.push(step["pattern"]["Regex"].as_str()?.replace(ENDINGS, ENDINGS_SPELLED));
                }
                "Digits" if step["individual_digits"] == true => patterns.push(r"\p{N}".to_owned()),
                "ByteLevel" if step["add_prefix_space"] != true => {
                    if step["use_regex"] != false {
                        patterns.push(GPT2.to_owned());
                    }
                }
                _ => return None,
            }
        }
        PRE.iter().find(|pre| pre.ignores_merges == ignores_merges && pre.patterns == patterns)
    }
}

/// Short endings of words in either case, as published files write them and as they are written here.
const ENDINGS: &str = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const ENDINGS_SPELLED: &str = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])";
