//! What a device reports while it loads a model.

use std::fmt;

use tilewright_model::Refusal;

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The checkpoint is read to find what an earlier run packed of it.
    Identify,
    /// Weights are read from the checkpoint and brought into the format of the plan.
    Pack,
    /// Weights packed by an earlier run are read back.
    Restore,
    /// Packed weights are written for later runs.
    Store,
    /// Kernels are compiled; counted in bytes of their text.
    Compile,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Identify => "looking for packed weights",
            Self::Pack => "packing weights",
            Self::Restore => "reading packed weights",
            Self::Store => "storing packed weights",
            Self::Compile => "compiling kernels",
        })
    }
}

/// How far a stage is. Reported at its start (`done` 0), along the way, and at its end (`done == total`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// Bytes done.
    pub done: u64,
    /// Bytes in all.
    pub total: u64,
}

/// Who hears of progress and decides whether loading goes on: a refusal ends it there, and what was loaded is freed.
pub type Watch<'a> = dyn FnMut(Progress) -> Result<(), Refusal> + 'a;
