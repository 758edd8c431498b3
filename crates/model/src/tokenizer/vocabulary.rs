//! From ids to bytes.

use crate::Finding;

/// How the string of a token in the file spells the bytes it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// One character for each byte, by the table of GPT-2.
    ByteLevel,
    /// UTF-8 with a mark for the space; with `byte_fallback`, `<0x0A>` is one byte.
    Marked { mark: String, byte_fallback: bool, lead: Lead },
}

/// What a decoded text loses at its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// Nothing.
    Keep,
    /// One space.
    OneSpace,
    /// Every mark of its first token.
    FirstTokenMarks,
}

impl Spelling {
    /// The bytes of a token of the model.
    pub(super) fn bytes_of(&self, token: &str) -> Vec<u8> {
        match self {
            Self::ByteLevel => token
                .chars()
                .map(byte_of)
                .collect::<Option<Vec<u8>>>()
                .unwrap_or_else(|| token.as_bytes().to_vec()),
            Self::Marked { mark, byte_fallback, .. } => match fallback_byte(token) {
                Some(byte) if *byte_fallback => vec![byte],
                _ => token.replace(mark.as_str(), " ").into_bytes(),
            },
        }
    }

    /// What a text decoded from its beginning loses there.
    pub(super) fn lead(&self) -> Lead {
        match self {
            Self::ByteLevel => Lead::Keep,
            Self::Marked { lead, .. } => *lead,
        }
    }
}

/// The byte a character of the byte-level alphabet stands for: printable Latin-1 stands for itself, the other
/// bytes follow in order from U+0100.
fn byte_of(c: char) -> Option<u8> {
    let stands_for_itself = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    match u32::from(c) {
        code @ 0..=0xFF => u8::try_from(code).ok().filter(|byte| stands_for_itself(*byte)),
        code => {
            let rank = usize::try_from(code - 0x100).ok()?;
            (0..=u8::MAX).filter(|byte| !stands_for_itself(*byte)).nth(rank)
        }
    }
}

/// The byte of a fallback token such as `<0x0A>`.
fn fallback_byte(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    (digits.len() == 2).then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

/// What is known of one id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entry {
    end: u32,
    known: bool,
    control: bool,
    special: bool,
}

/// The bytes of every id, in one block.
#[derive(Debug)]
pub(super) struct Vocabulary {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
}

/// One token for [`Vocabulary::new`].
pub(super) struct Spelled {
    pub(super) id: u32,
    pub(super) bytes: Vec<u8>,
    pub(super) control: bool,
    pub(super) special: bool,
}

/// Unused ids below the highest one: a few are normal, more would let a small file claim a large table.
const HOLES: usize = 65_536;

impl Vocabulary {
    /// A table of `tokens`, whose ids have to be distinct.
    pub(super) fn new(mut tokens: Vec<Spelled>, findings: &mut Vec<Finding>) -> Option<Self> {
        tokens.sort_by_key(|token| token.id);
        let length = tokens.last().map_or(0, |token| token.id as usize + 1);
        if length > tokens.len() + HOLES {
            let expected = format!("ids below {}", tokens.len() + HOLES);
            findings.push(Finding::new("vocabulary", expected, length - 1));
            return None;
        }
        let mut table = Self { entries: vec![Entry::default(); length], bytes: Vec::new() };
        let mut tokens = tokens.into_iter().peekable();
        for id in 0..length {
            let mut entry = Entry::default();
            if let Some(token) = tokens.next_if(|token| token.id as usize == id) {
                table.bytes.extend_from_slice(&token.bytes);
                entry = Entry { end: 0, known: true, control: token.control, special: token.special };
            }
            entry.end = u32::try_from(table.bytes.len()).ok()?;
            table.entries[id] = entry;
        }
        Some(table)
    }

    /// One more than the highest id.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The bytes of an id.
    pub(super) fn bytes(&self, id: u32) -> Option<&[u8]> {
        let index = id as usize;
        let entry = self.entries.get(index).filter(|entry| entry.known)?;
        let start = index.checked_sub(1).map_or(0, |previous| self.entries[previous].end);
        Some(&self.bytes[start as usize..entry.end as usize])
    }

    /// Whether the id is a control token.
    pub(super) fn is_control(&self, id: u32) -> bool {
        self.entries.get(id as usize).is_some_and(|entry| entry.control)
    }

    /// Whether the id is left out of a text decoded without special tokens.
    pub(super) fn is_special(&self, id: u32) -> bool {
        self.entries.get(id as usize).is_some_and(|entry| entry.special)
    }
}
