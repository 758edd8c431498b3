//! Many tokens of one sequence at once.

use crate::catalogue::{Entry, PipelineEntry};

/// Kernels of this folder.
pub const ENTRIES: &[Entry] = &[];

/// Pipelines of this folder.
pub const PIPELINES: &[PipelineEntry] = &[];
