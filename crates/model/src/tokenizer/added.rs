//! Added tokens: strings of the text that are one token as a whole.
//!
//! Most of them are *control* tokens, which only a template (or a caller who says so) may produce. The others are
//! runs of white space and single characters: the model produces them from ordinary text as well, so they are
//! matched in every text.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex_automata::meta::Regex;
use serde::Deserialize;

use crate::{Code, Finding, Refusal};

/// One entry of `added_tokens`, with the flags of `tokenizer.json`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AddedToken {
    pub(super) id: u32,
    pub(super) content: String,
    #[serde(default)]
    pub(super) single_word: bool,
    #[serde(default)]
    pub(super) lstrip: bool,
    #[serde(default)]
    pub(super) rstrip: bool,
    #[serde(default)]
    pub(super) normalized: bool,
    #[serde(default)]
    pub(super) special: bool,
    /// Whether only a template may produce this token; set once the merges are known.
    #[serde(skip)]
    pub(super) control: bool,
}

impl AddedToken {
    /// Whether the token stands for something other than its own text. `mergeable` says that the model can make it
    /// from text: then it is control only if the file calls it special.
    pub(super) fn looks_like_control(&self, mergeable: bool) -> bool {
        let blank = self.content.chars().all(|c| c.is_whitespace() || c == '▁');
        let single = self.content.chars().count() == 1;
        !blank && (self.special || !(single || mergeable))
    }
}

/// A stretch of a text, in byte offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// One added token, with the white space it swallows.
    Token(u32),
    /// Text for the model.
    Text { start: usize, end: usize },
}

/// Finds added tokens in a text: leftmost first, longest first, as the reference implementation does.
#[derive(Debug)]
pub(super) struct Matcher {
    tokens: Vec<AddedToken>,
    automaton: Option<AhoCorasick>,
}

impl Matcher {
    /// A matcher for `tokens`.
    ///
    /// # Errors
    /// [`Code::TokenizerInvalid`] when no automaton can be built for them.
    pub(super) fn new(tokens: Vec<AddedToken>) -> Result<Self, Refusal> {
        let automaton = if tokens.is_empty() {
            None
        } else {
            let built = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(tokens.iter().map(|token| &token.content));
            let invalid = |error| {
                let finding = Finding::new("added_tokens", "strings that can be searched for", error);
                Refusal::with_findings(Code::TokenizerInvalid, vec![finding])
            };
            Some(built.map_err(invalid)?)
        };
        Ok(Self { tokens, automaton })
    }

    /// The id of the added token with this content.
    pub(super) fn id_of(&self, content: &str) -> Option<u32> {
        self.tokens.iter().find(|token| token.content == content).map(|token| token.id)
    }

    /// Splits `text` at its added tokens. `haystack` is `text` or a copy of equal length in which the bytes that
    /// must not take part in a match are overwritten.
    pub(super) fn split(&self, text: &str, haystack: &[u8]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut done = 0;
        let matches = self.automaton.iter().flat_map(|automaton| automaton.find_iter(haystack));
        for found in matches {
            let token = &self.tokens[found.pattern().as_usize()];
            let (mut start, mut end) = (found.start(), found.end());
            let before = &text[..start];
            let after = &text[end..];
            if token.single_word
                && (before.chars().next_back().is_some_and(is_word)
                    || after.chars().next().is_some_and(is_word))
            {
                continue;
            }
            if token.lstrip {
                start = before.trim_end().len().max(done);
            }
            if token.rstrip {
                end = text.len() - after.trim_start().len();
            }
            if done < start {
                pieces.push(Piece::Text { start: done, end: start });
            }
            pieces.push(Piece::Token(token.id));
            done = end;
        }
        if done < text.len() {
            pieces.push(Piece::Text { start: done, end: text.len() });
        }
        pieces
    }
}

/// A word character in the sense of `\w`: letters, marks, digits and joiners.
fn is_word(c: char) -> bool {
    static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\w").ok());
    WORD.as_ref().is_some_and(|word| word.is_match(&*c.encode_utf8(&mut [0; 4])))
}
