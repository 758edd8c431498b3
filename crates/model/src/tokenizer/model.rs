//! The `model` section: vocabulary and merges.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;
use tokenizers::models::bpe::{BPE, BpeBuilder, Vocab};

use super::added::AddedToken;
use super::file::{Sections, close, parse};
use super::vocabulary::{Spelled, Spelling, Vocabulary};
use crate::Finding;

/// Findings about merges after which the rest are not looked at: something else is wrong.
const ENOUGH: usize = 20;

/// Before the name of a field.
const PATH: &str = "model.";

const FIELDS: [&str; 10] = [
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

/// A byte-pair model as the file states it.
///
/// `unk_token` is read but not used: text that no token spells is refused rather than replaced.
#[derive(Default)]
pub(super) struct Model {
    vocab: Vocab,
    merges: Vec<(String, String)>,
    byte_fallback: bool,
    ignore_merges: bool,
}

impl Model {
    /// Reads the section.
    pub(super) fn read(section: Option<&RawValue>, findings: &mut Vec<Finding>) -> Self {
        let mut model = Self::default();
        let text = section.map_or("null", RawValue::get);
        let fields: Sections<'_> = match serde_json::from_str(text) {
            Ok(fields) => fields,
            Err(error) => {
                findings.push(Finding::new("model", "an object", error));
                return model;
            }
        };
        let kind = parse::<String>(&fields, PATH, "type", findings);
        if kind.as_deref() != Some("BPE") {
            findings.push(Finding::new("model.type", "BPE", kind.as_deref().unwrap_or("nothing")));
            return model;
        }
        close(&fields, &FIELDS, PATH, findings);
        if let Some(dropout) = parse::<f64>(&fields, PATH, "dropout", findings) {
            findings.push(Finding::new("model.dropout", "null: ids are not left to chance", dropout));
        }
        for affix in ["continuing_subword_prefix", "end_of_word_suffix"] {
            if let Some(text) =
                parse::<String>(&fields, PATH, affix, findings).filter(|text| !text.is_empty())
            {
                findings.push(Finding::new(format!("model.{affix}"), "null or empty", format!("{text:?}")));
            }
        }
        parse::<String>(&fields, PATH, "unk_token", findings);
        parse::<bool>(&fields, PATH, "fuse_unk", findings);
        model.byte_fallback = parse(&fields, PATH, "byte_fallback", findings).unwrap_or(false);
        model.ignore_merges = parse(&fields, PATH, "ignore_merges", findings).unwrap_or(false);
        match parse(&fields, PATH, "vocab", findings) {
            Some(vocab) => model.vocab = vocab,
            None => findings.push(Finding::new("model.vocab", "a table of ids", "nothing")),
        }
        match parse::<Vec<Merge>>(&fields, PATH, "merges", findings) {
            Some(merges) => model.merges = merges.into_iter().map(|merge| (merge.0, merge.1)).collect(),
            None => findings.push(Finding::new("model.merges", "a list of pairs", "nothing")),
        }
        model
    }

    /// The id of a string of the vocabulary.
    pub(super) fn id_of(&self, text: &str) -> Option<u32> {
        self.vocab.get(text).copied()
    }

    /// Every part and product of a merge is a token. Marks which of the added tokens are control tokens: none that
    /// a merge makes from text.
    pub(super) fn check_merges(&self, added: &mut [AddedToken], findings: &mut Vec<Finding>) {
        let mut mergeable = BTreeSet::new();
        let added_by_text: BTreeMap<&str, u32> =
            added.iter().map(|token| (token.content.as_str(), token.id)).collect();
        let lengths: BTreeSet<usize> = added.iter().map(|token| token.content.len()).collect();
        let mut product = String::new();
        let before = findings.len();
        for (rank, (left, right)) in self.merges.iter().enumerate() {
            product.clear();
            product.push_str(left);
            product.push_str(right);
            for part in [left, right, &product] {
                if !self.vocab.contains_key(part) {
                    let path = format!("model.merges[{rank}]");
                    findings.push(Finding::new(path, "tokens of model.vocab", format!("{part:?}")));
                }
            }
            if lengths.contains(&product.len()) {
                mergeable.extend(added_by_text.get(product.as_str()).copied());
            }
            if findings.len() - before > ENOUGH {
                break;
            }
        }
        for token in added {
            let mergeable = mergeable.contains(&token.id);
            token.control = token.looks_like_control(mergeable);
            if token.control && mergeable {
                let path = format!("added_tokens {:?}", token.content);
                findings.push(Finding::new(path, "no merge that makes it from text", "one"));
            }
        }
    }

    /// The table of ids.
    pub(super) fn tabulate(
        &self,
        added: &[AddedToken],
        spelling: &Spelling,
        findings: &mut Vec<Finding>,
    ) -> Option<Vocabulary> {
        // Added tokens come before words of the model, so that of two entries for one token theirs is kept.
        let mut tokens: Vec<Spelled<'_>> = added.iter().map(Spelled::added).collect();
        tokens.extend(self.vocab.iter().map(|(text, id)| Spelled::word(*id, text)));
        tokens.sort_unstable_by(|a, b| (a.id, !a.added, a.text).cmp(&(b.id, !b.added, b.text)));
        tokens.dedup_by(|later, first| later.id == first.id && later.text == first.text);
        for pair in tokens.windows(2) {
            if let [first, second] = pair
                && first.id == second.id
            {
                let expected = format!("one token for id {}", first.id);
                let got = format!("{:?} and {:?}", first.text, second.text);
                findings.push(Finding::new("model.vocab", expected, got));
            }
        }
        if findings.is_empty() { Vocabulary::new(&tokens, spelling, findings) } else { None }
    }

    /// The merging model. Control tokens are left out of its vocabulary, so that no text can spell one.
    pub(super) fn build(mut self, added: &[AddedToken]) -> Result<BPE, Finding> {
        for token in added.iter().filter(|token| token.control) {
            self.vocab.remove(&token.content);
        }
        BpeBuilder::new()
            .vocab_and_merges(self.vocab, self.merges)
            .byte_fallback(self.byte_fallback)
            .ignore_merges(self.ignore_merges)
            .build()
            .map_err(|error| Finding::new("model", "a vocabulary and merges that fit", error))
    }
}

/// One merge, in either of the forms in which files write it: `["a", "b"]` or `"a b"`.
struct Merge(String, String);

impl<'de> Deserialize<'de> for Merge {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MergeVisitor)
    }
}

struct MergeVisitor;

impl<'de> Visitor<'de> for MergeVisitor {
    type Value = Merge;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("two tokens, in a list or with a space between")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Merge, E> {
        let (left, right) =
            text.split_once(' ').ok_or_else(|| E::custom(format!("{text:?} is not two tokens")))?;
        Ok(Merge(left.to_owned(), right.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Merge, A::Error> {
        let mut token = |index| list.next_element()?.ok_or_else(|| A::Error::invalid_length(index, &self));
        let (left, right) = (token(0)?, token(1)?);
        match list.next_element::<String>()? {
            None => Ok(Merge(left, right)),
            Some(_) => Err(A::Error::invalid_length(3, &self)),
        }
    }
}
