//! Which rows of the head stand for a token.

use std::sync::Arc;

use tilewright_model::Tokenizer;

/// Heads are often padded beyond the tokenizer's vocabulary. A row without a token is never picked, and such an id
/// is refused in a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    limit: usize,
    gaps: Arc<[u32]>,
}

impl Tokens {
    /// Every one of `rows` rows.
    pub fn all(rows: usize) -> Self {
        Self { limit: rows, gaps: Arc::default() }
    }

    /// All of `rows` rows but `gaps`, by rising id.
    #[cfg(test)]
    pub(crate) fn except(rows: usize, gaps: &[u32]) -> Self {
        Self { limit: rows, gaps: gaps.into() }
    }

    /// Those of `rows` rows that `tokenizer` knows.
    pub fn of(tokenizer: &Tokenizer, rows: usize) -> Self {
        let limit = rows.min(tokenizer.vocab_size());
        let gaps = (0u32..).take(limit).filter(|&id| tokenizer.token_bytes(id).is_none()).collect();
        Self { limit, gaps }
    }

    /// Whether `id` stands for a token.
    pub fn has(&self, id: u32) -> bool {
        (id as usize) < self.limit && self.gaps.binary_search(&id).is_err()
    }

    /// One more than the highest id that stands for a token.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Ids below the limit that stand for none, by rising id.
    pub fn gaps(&self) -> &[u32] {
        &self.gaps
    }

    /// How many ids stand for a token.
    pub fn count(&self) -> usize {
        self.limit - self.gaps.len()
    }
}

#[cfg(test)]
mod tests;
