//! Tiled attention of many queries.

use crate::catalogue::Entry;

/// Kernels of this folder.
pub const ENTRIES: &[Entry] = &[];
