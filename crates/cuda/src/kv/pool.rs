//! Pages that sequences share: counted, written to by one alone, given back when nobody has them.
//!
//! A sequence has addresses for all its room from the start, and memory as far as it has come. Before positions are written
//! their pages are made its own: taken and zeroed, since what lies past the last position is multiplied by zero and must be a
//! number, or copied from a page that others have too. All that a call needs is there before anything changes.

use std::ops::Range;
use std::sync::Arc;

use tilewright_model::{Code, Refusal};

use super::layout::{PAGE, pages};

/// Pages kept for the next sequence instead of being given back, in bytes at most.
const SPARE: usize = 1 << 28;

/// Memory that addresses are given to.
pub(crate) trait Mapping {
    /// A page of memory; given back when dropped.
    type Page;
    /// Addresses for some pages; given back when dropped, with what is mapped there.
    type Range;

    /// Bytes of a page.
    fn bytes(&self) -> usize;

    /// A page.
    fn page(&self) -> Result<Self::Page, Refusal>;

    /// Addresses without memory.
    fn range(&self, pages: usize) -> Result<Self::Range, Refusal>;

    /// Gives addresses the memory of a page.
    fn map(&self, range: &mut Self::Range, at: usize, page: &Self::Page) -> Result<(), Refusal>;

    /// Takes it away.
    fn unmap(&self, range: &mut Self::Range, at: usize);

    /// Makes a page zero.
    fn clear(&self, page: &Self::Page) -> Result<(), Refusal>;

    /// Makes a page a copy of another.
    fn copy(&self, page: &Self::Page, from: &Self::Page) -> Result<(), Refusal>;

    /// Waits until nothing that was started reads or writes any page.
    fn wait(&self) -> Result<(), Refusal>;
}

/// All pages.
pub(crate) struct Pool<M: Mapping> {
    mapping: M,
    spare: Vec<M::Page>,
    /// Pages that sequences have.
    used: usize,
    /// Pages that there may be.
    pub(crate) most: usize,
}

/// The pages of a sequence, from the first on.
pub(crate) struct Mapped<M: Mapping> {
    /// First, so that addresses go before memory.
    pub(crate) range: M::Range,
    pages: Vec<Arc<M::Page>>,
}

impl<M: Mapping> Mapped<M> {
    /// Whether a page is to be taken before it can be written to.
    fn lacks(&self, page: usize) -> bool {
        self.pages.get(page).is_none_or(|page| Arc::strong_count(page) > 1)
    }
}

/// The pages of positions.
fn of(positions: &Range<usize>) -> Range<usize> {
    let end = if positions.is_empty() { 0 } else { pages(positions.end) };
    positions.start / PAGE..end
}

impl<M: Mapping> Pool<M> {
    pub(crate) fn new(mapping: M, most: usize) -> Self {
        Self { mapping, spare: Vec::new(), used: 0, most }
    }

    /// Pages that sequences have; one that several have counts once.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// A sequence without memory and with addresses for `positions`.
    ///
    /// # Errors
    /// `out_of_memory`, `device_failed`.
    pub(crate) fn create(&self, positions: usize) -> Result<Mapped<M>, Refusal> {
        let range = self.mapping.range(pages(positions).max(1))?;
        Ok(Mapped { range, pages: Vec::new() })
    }

    /// Makes the pages of some positions of each sequence its own: those that follow its last one, and those it has.
    ///
    /// # Errors
    /// `out_of_memory`, and all is as it was; `device_failed`.
    pub(crate) fn reach(&mut self, wants: Vec<(&mut Mapped<M>, Range<usize>)>) -> Result<(), Refusal> {
        let lacking = |(mapped, positions): &(&mut Mapped<M>, Range<usize>)| {
            of(positions).filter(|page| mapped.lacks(*page)).count()
        };
        let count = wants.iter().map(lacking).sum();
        if count == 0 {
            return Ok(());
        }
        self.ready(count)?;
        self.mapping.wait()?;
        for (mapped, positions) in wants {
            for page in of(&positions) {
                self.own(mapped, page)?;
            }
        }
        Ok(())
    }

    /// Makes a page of a sequence its own.
    fn own(&mut self, mapped: &mut Mapped<M>, at: usize) -> Result<(), Refusal> {
        if !mapped.lacks(at) {
            return Ok(());
        }
        let page = self.take()?;
        let Some(shared) = mapped.pages.get_mut(at) else {
            let mapping = &self.mapping;
            let made = mapping.clear(&page).and_then(|()| mapping.map(&mut mapped.range, at, &page));
            return self.counted(made, page, |page| mapped.pages.push(Arc::new(page)));
        };
        let mapping = &self.mapping;
        let made = mapping.copy(&page, shared).and_then(|()| {
            mapping.unmap(&mut mapped.range, at);
            // Where that fails the old one goes back to its place.
            mapping
                .map(&mut mapped.range, at, &page)
                .inspect_err(|_| drop(mapping.map(&mut mapped.range, at, shared)))
        });
        self.counted(made, page, |page| *shared = Arc::new(page))
    }

    /// Hands a page over where it was `made` ready.
    fn counted(
        &mut self,
        made: Result<(), Refusal>,
        page: M::Page,
        keep: impl FnOnce(M::Page),
    ) -> Result<(), Refusal> {
        match made {
            Ok(()) => {
                self.used += 1;
                keep(page);
            }
            Err(_) => {
                // What was begun with it has to end before it may go.
                drop(self.mapping.wait());
                self.put(page);
            }
        }
        made
    }

    /// Takes so many pages that they are there when they are asked for.
    fn ready(&mut self, count: usize) -> Result<(), Refusal> {
        if self.used + count > self.most {
            let (what, most) = ("pages of keys and values", self.most);
            return Err(Refusal::new(Code::OutOfMemory, what, format!("at most {most}"), self.used + count));
        }
        let result = (self.spare.len()..count).try_for_each(|_| {
            self.spare.push(self.mapping.page()?);
            Ok(())
        });
        result.inspect_err(|_| self.trim())
    }

    fn take(&mut self) -> Result<M::Page, Refusal> {
        self.spare.pop().map_or_else(|| self.mapping.page(), Ok)
    }

    /// Keeps a page that nobody has, or gives it back.
    fn put(&mut self, page: M::Page) {
        self.spare.push(page);
        self.trim();
    }

    fn trim(&mut self) {
        self.spare.truncate(SPARE / self.mapping.bytes().max(1));
    }

    /// Gives back the pages that `positions` do not need.
    ///
    /// # Errors
    /// `device_failed`, of what ran before.
    pub(crate) fn truncate(&mut self, mapped: &mut Mapped<M>, positions: usize) -> Result<(), Refusal> {
        let keep = pages(positions);
        if mapped.pages.len() <= keep {
            return Ok(());
        }
        self.mapping.wait()?;
        for (at, page) in mapped.pages.drain(keep..).enumerate() {
            self.mapping.unmap(&mut mapped.range, keep + at);
            if let Some(page) = Arc::into_inner(page) {
                self.used -= 1;
                self.spare.push(page);
            }
        }
        self.trim();
        Ok(())
    }

    /// A sequence with addresses for `positions` that begins with the first `len` of another: whole pages are those of the
    /// other, the last one is copied.
    ///
    /// # Errors
    /// `out_of_memory`, `device_failed`.
    pub(crate) fn fork(
        &mut self,
        from: &Mapped<M>,
        len: usize,
        positions: usize,
    ) -> Result<Mapped<M>, Refusal> {
        let whole = len / PAGE;
        let last = from.pages.get(whole).filter(|_| !len.is_multiple_of(PAGE));
        self.ready(usize::from(last.is_some()))?;
        self.mapping.wait()?;
        let mut fork = self.create(positions)?;
        for (at, page) in from.pages.iter().take(whole).enumerate() {
            self.mapping.map(&mut fork.range, at, page)?;
            fork.pages.push(Arc::clone(page));
        }
        if let Some(last) = last {
            let (page, mapping) = (self.take()?, &self.mapping);
            let made = mapping.copy(&page, last).and_then(|()| mapping.map(&mut fork.range, whole, &page));
            self.counted(made, page, |page| fork.pages.push(Arc::new(page)))?;
        }
        Ok(fork)
    }

    /// Gives all pages of a sequence back.
    pub(crate) fn release(&mut self, mut mapped: Mapped<M>) {
        // What ran before has failed, so that nothing runs any more.
        if self.truncate(&mut mapped, 0).is_err() {
            let alone = mapped.pages.drain(..).filter_map(Arc::into_inner).count();
            self.used -= alone;
        }
    }
}

#[cfg(test)]
mod tests;
