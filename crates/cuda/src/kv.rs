//! Keys and values of sequences, in pages of 256 positions.
//!
//! Where the GPU can give addresses to pieces of memory, a sequence takes pages as it grows, and sequences that begin alike
//! share them. Elsewhere it takes all pages when it is created. Kernels see no difference: a cache has one address, and a
//! page of it lies behind the one before.

pub(crate) mod layout;
mod memory;
mod pool;

use std::ops::Range;

use tilewright_backend::Paging;
use tilewright_model::Refusal;

use crate::device::{Buffer, Device};

pub(crate) use layout::{BLOCK, Layout, PAGE};
use memory::Memory;
use pool::{Mapped, Pool};

/// The cache of one sequence.
pub(crate) enum KvCache {
    /// All pages in one piece.
    Whole(Buffer),
    /// Those it has come to.
    Pages(Mapped<Memory>),
}

impl KvCache {
    /// Of the first byte.
    pub(crate) fn address(&self) -> u64 {
        match self {
            Self::Whole(buffer) => buffer.address,
            Self::Pages(mapped) => mapped.range.address,
        }
    }
}

/// Where caches come from.
pub(crate) struct Store {
    pub(crate) layout: Layout,
    /// Whether blocks lie as fragments.
    fragments: bool,
    /// Of memory that addresses are given to.
    pool: Option<Pool<Memory>>,
}

impl Store {
    /// Caches of a layout; in pages, of which there may be `most`, where the GPU takes such.
    pub(crate) fn new(device: &Device, layout: Layout, fragments: bool, most: Option<usize>) -> Self {
        let pool = most.map(|most| Pool::new(Memory::new(device, layout.page_bytes()), most));
        Self { layout, fragments, pool }
    }

    pub(crate) fn paging(&self) -> Option<Paging> {
        self.pool.as_ref().map(|pool| Paging {
            page: PAGE,
            bytes: self.layout.page_bytes() as u64,
            used: pool.used(),
            most: Some(pool.most),
        })
    }

    /// Allows another number of pages.
    pub(crate) fn limit(&mut self, most: usize) {
        if let Some(pool) = &mut self.pool {
            pool.most = most;
        }
    }

    /// A cache with room for `positions`.
    ///
    /// # Errors
    /// `out_of_memory`, `device_failed`.
    pub(crate) fn create(&self, device: &Device, positions: usize) -> Result<KvCache, Refusal> {
        match &self.pool {
            Some(pool) => Ok(KvCache::Pages(pool.create(positions)?)),
            // Zero, as the pages of a pool are.
            None => {
                Ok(KvCache::Whole(device.zeros(layout::pages(positions).max(1) * self.layout.page_bytes())?))
            }
        }
    }

    /// Makes positions of caches ready to be written.
    ///
    /// # Errors
    /// `out_of_memory`, and all is as it was; `device_failed`.
    pub(crate) fn reach<'a>(
        &mut self,
        wants: impl Iterator<Item = (&'a mut KvCache, Range<usize>)>,
    ) -> Result<(), Refusal> {
        let Some(pool) = &mut self.pool else { return Ok(()) };
        let pages = wants.filter_map(|(cache, positions)| match cache {
            KvCache::Pages(mapped) => Some((mapped, positions)),
            KvCache::Whole(_) => None,
        });
        pool.reach(pages.collect())
    }

    /// Gives back what `positions` do not need. What fails had failed before: the next call on the GPU says so.
    pub(crate) fn truncate(&mut self, cache: &mut KvCache, positions: usize) {
        if let (Some(pool), KvCache::Pages(mapped)) = (&mut self.pool, cache) {
            drop(pool.truncate(mapped, positions));
        }
    }

    /// A cache with room for `positions` that begins with the first `len` of another, which are there; `None` where caches do
    /// not share.
    ///
    /// # Errors
    /// `out_of_memory`, `device_failed`.
    pub(crate) fn fork(
        &mut self,
        from: &KvCache,
        len: usize,
        positions: usize,
    ) -> Result<Option<KvCache>, Refusal> {
        let (Some(pool), KvCache::Pages(mapped)) = (&mut self.pool, from) else { return Ok(None) };
        pool.fork(mapped, len, positions).map(KvCache::Pages).map(Some)
    }

    /// Gives everything back.
    pub(crate) fn release(&mut self, cache: KvCache) {
        if let (Some(pool), KvCache::Pages(mapped)) = (&mut self.pool, cache) {
            pool.release(mapped);
        }
    }

    /// Keys and values of some positions of a layer, each `[kv_heads, positions, head_dim]`.
    ///
    /// # Errors
    /// `device_failed`.
    pub(crate) fn copy(
        &self,
        device: &Device,
        cache: &KvCache,
        layer: usize,
        positions: Range<usize>,
    ) -> Result<(Vec<f32>, Vec<f32>), Refusal> {
        let address = cache.address();
        self.layout
            .copy(self.fragments, layer, positions, |at, bytes| device.download(address + at as u64, bytes))
    }
}
