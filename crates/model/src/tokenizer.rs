//! Text to ids and back.
//!
//! `tokenizer.json` decides, `tokenizer_config.json` adds named tokens. Both are read as a closed set: a component
//! or setting that is not understood is refused by name ([`Code::TokenizerInvalid`]), because a tokenizer that is
//! nearly right gives ids that are wrong. Understood are BPE models, byte-level (Qwen, Llama 3, GPT-2, SmolLM2) and
//! in the style of SentencePiece (Llama 2, TinyLlama, Mistral).
//!
//! - *Control tokens* are the added tokens that stand for something other than their own text. Text encoded with
//!   [`Specials::Plain`] never yields one, whatever it spells.
//! - Exactly one owner puts a token before a text: the post-processor or `add_bos_token` for raw text
//!   ([`Tokenizer::encode_prompt`]), the template for a conversation ([`Tokenizer::encode_chat`]).
//! - Decoding is `String::from_utf8_lossy` of the bytes of the tokens. A broken run of byte tokens therefore keeps
//!   its valid characters, where the reference implementation replaces the whole run.
//! - `clean_up_tokenization_spaces` has no effect: what the model wrote is shown.
//! - Added tokens are searched in the text as it is given. One marked `normalized` whose text the normalizer would
//!   change is refused.
//!
//! Splitting a text costs time linear in its length for every published pattern; merging costs n log n in the
//! length of a word. A pattern with general look-around can give up, which is a refusal
//! ([`Code::TextUnencodable`]).

mod added;
mod components;
mod config;
mod decoder;
mod file;
mod model;
mod pieces;
mod stream;
#[cfg(test)]
mod tests;
mod vocabulary;

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use tokenizers::Model as _;
use tokenizers::models::bpe::BPE;

pub use self::config::NamedTokens;
pub use self::stream::TextStream;

use self::added::{Matcher, Piece};
use self::pieces::Pieces;
use self::vocabulary::{Lead, Vocabulary};
use crate::{Checkpoint, Code, Finding, Prompt, Refusal};

/// Whether a text may contain control tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specials {
    /// `<|im_end|>` in the text is the control token.
    Parse,
    /// `<|im_end|>` in the text is ten characters.
    Plain,
}

/// A tokenizer, cheap to clone.
#[derive(Clone)]
pub struct Tokenizer(Arc<Inner>);

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokenizer").field("vocab_size", &self.vocab_size()).finish_non_exhaustive()
    }
}

struct Inner {
    pieces: Pieces,
    model: BPE,
    every_added: Matcher,
    text_added: Matcher,
    control_texts: Vec<String>,
    vocabulary: Vocabulary,
    lead: Lead,
    prefix: Vec<u32>,
    named: NamedTokens,
}

impl Tokenizer {
    /// The tokenizer of `tokenizer.json` and, if given, the parsed `tokenizer_config.json`.
    ///
    /// # Errors
    /// [`Code::TokenizerInvalid`] with everything that is not understood or contradicts itself.
    pub fn from_bytes(json: &[u8], config: Option<&Value>) -> Result<Self, Refusal> {
        let parts = file::read(json, config)?;
        let (control, text): (Vec<_>, Vec<_>) = parts.added.iter().cloned().partition(|token| token.control);
        Ok(Self(Arc::new(Inner {
            pieces: parts.pieces,
            model: parts.model,
            every_added: Matcher::new(parts.added)?,
            text_added: Matcher::new(text)?,
            control_texts: control.into_iter().map(|token| token.content).collect(),
            vocabulary: parts.vocabulary,
            lead: parts.spelling.lead(),
            prefix: parts.prefix,
            named: parts.named,
        })))
    }

    /// The tokenizer of a checkpoint.
    ///
    /// # Errors
    /// [`Code::CheckpointNotFound`] when it has no `tokenizer.json`, [`Code::TokenizerInvalid`] as
    /// [`from_bytes`](Self::from_bytes) and when it has more ids than the model.
    pub fn from_checkpoint(checkpoint: &Checkpoint) -> Result<Self, Refusal> {
        let Some(json) = checkpoint.tokenizer_json() else {
            return Err(Refusal::new(Code::CheckpointNotFound, "tokenizer.json", "a file", "none"));
        };
        let tokenizer = Self::from_bytes(json, checkpoint.tokenizer_config())?;
        let (ids, rows) = (tokenizer.vocab_size(), checkpoint.config().vocab);
        if ids > rows {
            let expected = format!("at most {rows} ids, as many as the model has");
            return Err(Refusal::new(Code::TokenizerInvalid, "vocabulary", expected, ids));
        }
        Ok(tokenizer)
    }

    /// One more than the highest id. Ids from here to the model's vocabulary size are padding: they are refused in
    /// input and never sampled.
    pub fn vocab_size(&self) -> usize {
        self.0.vocabulary.len()
    }

    /// The ids of `text`, and nothing before or after them.
    ///
    /// # Errors
    /// [`Code::TextUnencodable`] when a character has no token or the pattern gives up.
    pub fn encode(&self, text: &str, specials: Specials) -> Result<Vec<u32>, Refusal> {
        let matcher = match specials {
            Specials::Parse => &self.0.every_added,
            Specials::Plain => &self.0.text_added,
        };
        self.encode_pieces(text, &matcher.split(text, text.as_bytes()))
    }

    /// The ids of a raw prompt: [`prefix`](Self::prefix), then `text`. A prefix that `text` itself begins with is not
    /// put twice.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn encode_prompt(&self, text: &str, specials: Specials) -> Result<Vec<u32>, Refusal> {
        let ids = self.encode(text, specials)?;
        if ids.starts_with(self.prefix()) {
            return Ok(ids);
        }
        Ok([self.prefix(), &ids].concat())
    }

    /// The ids of a rendered conversation. The template owns every control token, the one at the beginning too;
    /// what came from a message is plain text.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    pub fn encode_chat(&self, prompt: &Prompt) -> Result<Vec<u32>, Refusal> {
        // No byte of UTF-8 is 0xFF, so no match can reach into a protected span.
        let mut haystack = prompt.text().as_bytes().to_vec();
        for span in prompt.protected() {
            haystack[span.clone()].fill(0xFF);
        }
        self.encode_pieces(prompt.text(), &self.0.every_added.split(prompt.text(), &haystack))
    }

    /// What a raw prompt begins with: the beginning-of-sequence id for some families, nothing for Qwen.
    pub fn prefix(&self) -> &[u32] {
        &self.0.prefix
    }

    /// The text of `ids`. Without special tokens, those the file calls special are left out.
    ///
    /// # Errors
    /// [`Code::TokenUnknown`] naming every id that is not in the vocabulary.
    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String, Refusal> {
        self.check_ids(ids)?;
        let mut stream = TextStream::new(self, skip_special);
        let mut text = String::new();
        for id in ids {
            text.push_str(&stream.push(*id)?);
        }
        text.push_str(&stream.finish());
        Ok(text)
    }

    /// Refuses ids that are not in the vocabulary.
    ///
    /// # Errors
    /// [`Code::TokenUnknown`] naming every one of them.
    pub fn check_ids(&self, ids: &[u32]) -> Result<(), Refusal> {
        let unknown = ids.iter().enumerate().filter(|(_, id)| self.token_bytes(**id).is_none());
        let findings =
            unknown.map(|(index, id)| self.unknown(format!("id at position {index}"), *id)).collect();
        Refusal::check(Code::TokenUnknown, findings)
    }

    /// The bytes an id stands for, `None` for an unknown one. They need not be whole characters.
    pub fn token_bytes(&self, id: u32) -> Option<&[u8]> {
        self.0.vocabulary.bytes(id)
    }

    /// The id of an added token or of a token of the model, by the string the file gives it.
    pub fn id_of(&self, token: &str) -> Option<u32> {
        self.0.every_added.id_of(token).or_else(|| self.0.model.token_to_id(token))
    }

    /// Whether only a template may produce this id.
    pub fn is_control(&self, id: u32) -> bool {
        self.0.vocabulary.is_control(id)
    }

    /// Whether the file calls this id special.
    pub fn is_special(&self, id: u32) -> bool {
        self.0.vocabulary.is_special(id)
    }

    /// The strings of the control tokens.
    pub fn control_texts(&self) -> &[String] {
        &self.0.control_texts
    }

    /// The tokens `tokenizer_config.json` names by their role.
    pub fn named(&self) -> &NamedTokens {
        &self.0.named
    }

    /// What a text loses at its beginning.
    fn lead(&self) -> Lead {
        self.0.lead
    }

    fn bytes_or_refusal(&self, id: u32) -> Result<&[u8], Refusal> {
        let unknown = || Refusal::with_findings(Code::TokenUnknown, vec![self.unknown("id", id)]);
        self.token_bytes(id).ok_or_else(unknown)
    }

    fn unknown(&self, what: impl Into<String>, id: u32) -> Finding {
        Finding::new(what, format!("an id of the tokenizer, below {}", self.vocab_size()), id)
    }

    fn encode_pieces(&self, text: &str, pieces: &[Piece]) -> Result<Vec<u32>, Refusal> {
        let mut ids = Vec::new();
        for piece in pieces {
            match *piece {
                Piece::Token(id) => ids.push(id),
                Piece::Text { start, end } => self.encode_text(&text[start..end], start == 0, &mut ids)?,
            }
        }
        Ok(ids)
    }

    /// Encodes text that holds no added token.
    fn encode_text(&self, text: &str, at_start: bool, ids: &mut Vec<u32>) -> Result<(), Refusal> {
        let mut lost = None;
        let outcome = self.0.pieces.each_word(text, at_start, |word| {
            let tokens = self.0.model.tokenize(word)?;
            // A character without a token is dropped without a word by the model: compare lengths.
            if tokens.last().map_or(0, |token| token.offsets.1) != word.len() {
                lost.get_or_insert_with(|| word.to_owned());
            }
            ids.extend(tokens.iter().map(|token| token.id));
            Ok(())
        });
        let finding = match (outcome, lost) {
            (Ok(()), None) => return Ok(()),
            (Err(error), _) => Finding::new("text", "one the pre-tokenizer's pattern can cut", error),
            (_, Some(word)) => {
                let shown: String = word.chars().take(40).collect();
                Finding::new("text", "characters the vocabulary can spell", format!("{shown:?}"))
            }
        };
        Err(Refusal::with_findings(Code::TextUnencodable, vec![finding]))
    }
}
