//! What a reply may look like, token by token: the seam for structured output.

use std::fmt::Debug;

use tilewright_model::Refusal;

/// Rules that a reply keeps. Shared by requests; each reply begins its own [`Constraint`].
pub trait Grammar: Debug + Send + Sync {
    /// The state before the first token.
    ///
    /// # Errors
    /// Why the rules cannot be kept.
    fn begin(&self) -> Result<Box<dyn Constraint>, Refusal>;
}

/// How far one reply has come.
pub trait Constraint: Send {
    /// Which tokens may come next: bit `id % 32` of word `id / 32`, and ids beyond the last word may not. At least one may.
    /// `None`: any token.
    ///
    /// # Errors
    /// Why the rules cannot be kept any longer.
    fn allowed(&mut self) -> Result<Option<&[u32]>, Refusal>;

    /// Takes the token that was picked among those.
    ///
    /// # Errors
    /// As [`allowed`](Self::allowed).
    fn accept(&mut self, id: u32) -> Result<(), Refusal>;
}
