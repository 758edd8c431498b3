//! From a text without added tokens to the words the model merges: normalization and pre-tokenization.
//!
//! The steps are those of the `tokenizers` crate, except splitting by a regular expression. There an expression
//! that gives up (its back-tracking stack is bounded) ends the splitting without a word, and the rest of the text
//! gets other ids. Here the patterns in use run in linear time, and one that gives up is a refusal.

use regex_automata::util::syntax;
use regex_automata::{Input, meta};
use tokenizers::pattern::{Invert, Pattern};
use tokenizers::{
    NormalizedString, Normalizer, NormalizerWrapper, OffsetReferential, OffsetType, PreTokenizedString,
    PreTokenizer, PreTokenizerWrapper, SplitDelimiterBehavior,
};

/// The ending of most published patterns: a run of white space, less its last character when a word follows.
const TRAILING_RUN: &str = r"|\s+(?!\S)|\s+";

/// How a text is cut into words.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pub(super) normalizer: Option<NormalizerWrapper>,
    pub(super) steps: Vec<Step>,
}

/// One step of pre-tokenization.
#[derive(Debug)]
pub(super) enum Step {
    /// Cut where the pattern matches (or, inverted, where it does not).
    Split { pattern: Splitter, behavior: SplitDelimiterBehavior, invert: bool },
    /// Put a space before a piece that begins with none.
    PrefixSpace,
    /// A step that differs at the start of the whole text.
    ByPosition { start: PreTokenizerWrapper, later: PreTokenizerWrapper },
    /// A step of the `tokenizers` crate as it is.
    Plain(PreTokenizerWrapper),
}

impl Pieces {
    /// Whether normalization leaves `text` as it is.
    pub(super) fn keeps(&self, text: &str) -> bool {
        let mut normalized = NormalizedString::from(text);
        match self.normalizer.as_ref().map(|normalizer| normalizer.normalize(&mut normalized)) {
            None => true,
            Some(outcome) => outcome.is_ok() && normalized.get() == text,
        }
    }

    /// Whether the last step spells bytes by the byte-level alphabet.
    pub(super) fn ends_in_bytes(&self) -> bool {
        matches!(self.steps.last(), Some(Step::Plain(PreTokenizerWrapper::ByteLevel(_))))
    }

    /// Calls `word` for every word of `text` in order. `at_start` says that the text begins the whole prompt.
    ///
    /// # Errors
    /// A message when a pattern gives up on the text.
    pub(super) fn each_word(
        &self,
        text: &str,
        at_start: bool,
        mut word: impl FnMut(&str) -> tokenizers::Result<()>,
    ) -> tokenizers::Result<()> {
        let mut normalized = NormalizedString::from(text);
        if let Some(normalizer) = &self.normalizer {
            normalizer.normalize(&mut normalized)?;
        }
        let mut pieces = PreTokenizedString::from(normalized);
        for step in &self.steps {
            step.apply(&mut pieces, at_start)?;
        }
        for (piece, _, _) in pieces.get_splits(OffsetReferential::Normalized, OffsetType::None) {
            word(piece)?;
        }
        Ok(())
    }
}

impl Step {
    fn apply(&self, pieces: &mut PreTokenizedString, at_start: bool) -> tokenizers::Result<()> {
        match self {
            Self::Split { pattern, behavior, invert: false } => {
                pieces.split(|_, piece| piece.split(pattern, *behavior))
            }
            Self::Split { pattern, behavior, invert: true } => {
                pieces.split(|_, piece| piece.split(Invert(pattern), *behavior))
            }
            Self::PrefixSpace => pieces.split(|_, mut piece| {
                if !piece.get().starts_with(' ') {
                    piece.prepend(" ");
                }
                Ok([piece])
            }),
            Self::ByPosition { start, later } => if at_start { start } else { later }.pre_tokenize(pieces),
            Self::Plain(step) => step.pre_tokenize(pieces),
        }
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) enum Splitter {
    /// Linear in the text. With `run`, the second of the two expressions is the trailing run of white space.
    Linear { expression: meta::Regex, run: bool },
    /// Needs look-around or back references: exact, but gives up on some long inputs.
    Backtracking(fancy_regex::Regex),
}

impl Splitter {
    /// Compiles a regular expression as the reference reads it: `^` and `$` stand at every line.
    ///
    /// # Errors
    /// The parser's message; also for a count that is repeated (`{1,3}+`), which regular expression engines read in
    /// different ways.
    pub(super) fn regex(pattern: &str) -> Result<Self, String> {
        if repeats_a_count(pattern) {
            return Err("a count followed by + has no agreed meaning".to_owned());
        }
        let compile = |patterns: &[&str]| {
            let lines = syntax::Config::new().multi_line(true);
            meta::Regex::builder().syntax(lines).build_many(patterns).ok()
        };
        if let Some(head) = pattern.strip_suffix(TRAILING_RUN)
            && let Some(expression) = compile(&[head, r"\s+"])
        {
            return Ok(Self::Linear { expression, run: true });
        }
        if let Some(expression) = compile(&[pattern]) {
            return Ok(Self::Linear { expression, run: false });
        }
        let expression = fancy_regex::Regex::new(&format!("(?m){pattern}"));
        expression.map(Self::Backtracking).map_err(|error| error.to_string())
    }

    /// A pattern that matches `text` itself.
    ///
    /// # Errors
    /// The compiler's message when the text is too long for an expression.
    pub(super) fn literal(text: &str) -> Result<Self, String> {
        Self::regex(&fancy_regex::escape(text))
    }

    /// The non-empty matches, in order.
    fn matches(&self, text: &str) -> tokenizers::Result<Vec<(usize, usize)>> {
        let mut found = Vec::new();
        match self {
            Self::Backtracking(expression) => {
                for hit in expression.find_iter(text) {
                    let hit = hit?;
                    found.push((hit.start(), hit.end()));
                }
            }
            Self::Linear { expression, run } => {
                let mut from = 0;
                while let Some(hit) = expression.search(&Input::new(text).range(from..)) {
                    let mut end = hit.end();
                    if *run && hit.pattern().as_usize() == 1 {
                        end = shorten_run(text, hit.start(), end);
                    }
                    found.push((hit.start(), end));
                    let step = text[end..].chars().next().map_or(1, char::len_utf8);
                    from = if hit.start() < end { end } else { end + step };
                    if from > text.len() {
                        break;
                    }
                }
            }
        }
        found.retain(|(start, end)| start < end);
        Ok(found)
    }
}

/// Whether the pattern has a count such as `{1,3}` with a `+` after it.
fn repeats_a_count(pattern: &str) -> bool {
    pattern.match_indices("}+").any(|(end, _)| {
        let inner = pattern[..end].rsplit('{').next().unwrap_or_default();
        inner.starts_with(|c: char| c.is_ascii_digit())
            && inner.chars().all(|c| c.is_ascii_digit() || c == ',')
    })
}

/// What `\s+(?!\S)|\s+` matches where the greedy run is `start..end`: without its last character when text follows
/// and something is left.
fn shorten_run(text: &str, start: usize, end: usize) -> usize {
    let last = text[start..end].chars().next_back().map_or(0, char::len_utf8);
    if end < text.len() && start < end - last { end - last } else { end }
}

impl Pattern for &Splitter {
    fn find_matches(&self, inside: &str) -> tokenizers::Result<Vec<((usize, usize), bool)>> {
        let mut cuts = Vec::new();
        let mut done = 0;
        for (start, end) in self.matches(inside)? {
            if done < start {
                cuts.push(((done, start), false));
            }
            cuts.push(((start, end), true));
            done = end;
        }
        if done < inside.len() || inside.is_empty() {
            cuts.push(((done, inside.len()), false));
        }
        Ok(cuts)
    }
}
