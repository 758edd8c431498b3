//! Sequences of replies that ended, kept for prompts that begin alike.

use crate::lease::Lease;

/// Fewer common ids than this are not worth keeping or sharing.
pub(super) const LEAST: usize = 8;

/// Sequences kept at most: each costs a comparison of ids for every prompt.
const MOST: usize = 64;

/// A sequence that nobody uses, and the ids it holds.
pub(super) struct Kept {
    pub(super) lease: Lease,
    pub(super) ids: Vec<u32>,
    /// Positions it was made for.
    pub(super) room: usize,
    /// When it was used last.
    used: u64,
}

/// Those kept.
#[derive(Default)]
pub(super) struct Shelf {
    entries: Vec<Kept>,
    clock: u64,
}

impl Shelf {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Positions that all were made for.
    pub(super) fn rooms(&self) -> usize {
        self.entries.iter().map(|kept| kept.room).sum()
    }

    pub(super) fn entries(&self) -> &[Kept] {
        &self.entries
    }

    /// Keeps a sequence; those that it begins with need not be kept any longer, and it need not be if it is the beginning
    /// of one that is there.
    pub(super) fn keep(&mut self, lease: Lease, ids: Vec<u32>, room: usize) {
        if ids.len() < LEAST
            || self.entries.iter().any(|kept| kept.ids.starts_with(&ids) && kept.room >= room)
        {
            return;
        }
        self.entries.retain(|kept| !(ids.starts_with(&kept.ids) && kept.room <= room));
        if self.entries.len() == MOST {
            self.forget_one();
        }
        self.clock += 1;
        self.entries.push(Kept { lease, ids, room, used: self.clock });
    }

    /// Notes that an entry was of use.
    pub(super) fn touch(&mut self, index: usize) {
        self.clock += 1;
        self.entries[index].used = self.clock;
    }

    /// Hands an entry over.
    pub(super) fn take(&mut self, index: usize) -> Kept {
        self.entries.swap_remove(index)
    }

    /// Gives back the sequence that was of no use for longest; whether there was one.
    pub(super) fn forget_one(&mut self) -> bool {
        let oldest = (0..self.entries.len()).min_by_key(|&index| self.entries[index].used);
        oldest.map(|index| self.entries.swap_remove(index)).is_some()
    }
}

/// How many ids two sequences begin with in common.
pub(super) fn common(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
