//! A prompt in pieces, and what running them leaves behind.

use super::chunked::PrefillError;

/// Where the chunks of a prompt lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Position of its first row.
    pub start: u32,
    /// Rows that hold tokens.
    pub valid: u32,
    /// Whether the prompt ends with it.
    pub last: bool,
}

/// The pieces of a prompt of `tokens` tokens from position `start` in chunks of `rows` rows.
pub fn pieces(start: u32, tokens: u32, rows: u32) -> impl Iterator<Item = Piece> {
    (0..tokens).step_by(rows.max(1) as usize).map(move |done| {
        let valid = rows.min(tokens - done);
        Piece { start: start + done, valid, last: done + valid == tokens }
    })
}

/// How far a sequence has been prefilled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    position: u32,
    row: bool,
}

impl Progress {
    /// The position that follows.
    pub const fn position(&self) -> u32 {
        self.position
    }

    /// A piece has been run.
    pub const fn ran(&mut self, piece: &Piece) {
        self.position = piece.start + piece.valid;
        self.row = piece.last;
    }

    /// Whether logits can be projected now.
    ///
    /// # Errors
    /// [`PrefillError::NothingToProject`] at the start and after a chunk that only filled the cache (D50).
    pub const fn project(&self) -> Result<(), PrefillError> {
        if self.row { Ok(()) } else { Err(PrefillError::NothingToProject { position: self.position }) }
    }
}
