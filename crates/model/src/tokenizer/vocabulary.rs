//! From ids to bytes.

use super::added::AddedToken;
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
    /// Appends the bytes of a token. The text of an added token of a byte-level file stands for itself.
    fn spell(&self, token: &Spelled<'_>, alphabet: &[Option<u8>], out: &mut Vec<u8>) {
        let start = out.len();
        match self {
            Self::ByteLevel => {
                let byte = |c| alphabet.get(u32::from(c) as usize).copied().flatten();
                let bytes = token.text.chars().map_while(byte);
                if !token.added {
                    out.extend(bytes);
                }
                if token.added || out.len() - start != token.text.chars().count() {
                    out.truncate(start);
                    out.extend_from_slice(token.text.as_bytes());
                }
            }
            Self::Marked { mark, byte_fallback, .. } => match fallback_byte(token.text) {
                Some(byte) if *byte_fallback => out.push(byte),
                _ => out.extend_from_slice(token.text.replace(mark.as_str(), " ").as_bytes()),
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

/// The byte that each character of the byte-level alphabet stands for, by code point: printable Latin-1 stands for
/// itself, the other bytes follow in order from U+0100.
fn byte_alphabet() -> Vec<Option<u8>> {
    let stands_for_itself = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    let (printable, others): (Vec<u8>, Vec<u8>) = (0..=u8::MAX).partition(|byte| stands_for_itself(*byte));
    let mut alphabet = vec![None; 0x100];
    for byte in printable {
        alphabet[usize::from(byte)] = Some(byte);
    }
    alphabet.extend(others.into_iter().map(Some));
    alphabet
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
pub(super) struct Spelled<'t> {
    pub(super) id: u32,
    pub(super) text: &'t str,
    pub(super) added: bool,
    control: bool,
    special: bool,
}

impl<'t> Spelled<'t> {
    /// An added token.
    pub(super) fn added(token: &'t AddedToken) -> Self {
        let AddedToken { id, content, control, special, .. } = token;
        Self { id: *id, text: content, added: true, control: *control, special: *special }
    }

    /// A token of the model.
    pub(super) fn word(id: u32, text: &'t str) -> Self {
        Self { id, text, added: false, control: false, special: false }
    }
}

/// Unused ids below the highest one: a few are normal, more would let a small file claim a large table.
const HOLES: usize = 65_536;

impl Vocabulary {
    /// A table of `tokens`, in the order of their ids, which are distinct.
    pub(super) fn new(
        tokens: &[Spelled<'_>],
        spelling: &Spelling,
        findings: &mut Vec<Finding>,
    ) -> Option<Self> {
        let length = tokens.last().map_or(0, |token| token.id as usize + 1);
        if length > tokens.len() + HOLES {
            let expected = format!("ids below {}", tokens.len() + HOLES);
            findings.push(Finding::new("vocabulary", expected, length - 1));
            return None;
        }
        let alphabet = byte_alphabet();
        let mut table = Self { entries: vec![Entry::default(); length], bytes: Vec::new() };
        let mut tokens = tokens.iter().peekable();
        for id in 0..length {
            let mut entry = Entry::default();
            if let Some(token) = tokens.next_if(|token| token.id as usize == id) {
                spelling.spell(token, &alphabet, &mut table.bytes);
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
