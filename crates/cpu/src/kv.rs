//! The KV cache of one sequence.
//!
//! Positions come in segments of [`SEGMENT`], the pages of this cache; a segment holds every layer and head in one piece
//! of memory and is taken when the sequence reaches it, so a long context costs nothing until it is used. Segments are
//! aligned to absolute positions, and attention reduces segment by segment: that is what makes its results independent
//! of how a prompt was split.
//!
//! Sequences that begin alike share segments. A segment is copied when one of those that share it is about to write to
//! it, so none ever sees what another wrote.
//!
//! Within a segment a head has its keys, then its values, each as attention streams them: keys in blocks of
//! [`BLOCK`] with the position innermost (`[SEGMENT / BLOCK, head_dim, BLOCK]`), values row by row
//! (`[SEGMENT, padded]`, rows padded with zeros to whole vectors).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytemuck::Pod;
use half::f16;
use tilewright_model::{Code, Config, Refusal};

use crate::memory::Pages;
use crate::simd::{Isa, Kernel, LANES, Simd};

/// Positions of one segment.
pub(crate) const SEGMENT: usize = 256;

/// Keys whose scores are computed side by side.
pub(crate) const BLOCK: usize = 64;

/// Width of a row of values in memory.
pub(crate) fn padded(head_dim: usize) -> usize {
    head_dim.next_multiple_of(LANES)
}

/// An element type of the cache.
pub(crate) trait Element: Pod + Send + Sync {
    /// Rounds to nearest, ties to even.
    fn narrow<S: Simd>(s: S, from: &[f32; LANES]) -> [Self; LANES];
    /// Exact.
    fn to_f32(self) -> f32;
}

impl Element for f32 {
    #[inline(always)]
    fn narrow<S: Simd>(_: S, from: &[f32; LANES]) -> [Self; LANES] {
        *from
    }

    fn to_f32(self) -> f32 {
        self
    }
}

impl Element for f16 {
    #[inline(always)]
    fn narrow<S: Simd>(s: S, from: &[f32; LANES]) -> [Self; LANES] {
        let mut to = [Self::ZERO; LANES];
        s.store_f16(s.load(from), bytemuck::must_cast_mut(&mut to));
        to
    }

    fn to_f32(self) -> f32 {
        Self::to_f32(self)
    }
}

/// Where things are in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    layers: usize,
    kv_heads: usize,
    head_dim: usize,
}

impl Layout {
    pub(crate) fn new(config: &Config) -> Self {
        Self { layers: config.layers, kv_heads: config.kv_heads, head_dim: config.head_dim }
    }

    fn keys(self) -> usize {
        SEGMENT * self.head_dim
    }

    fn head(self) -> usize {
        self.keys() + SEGMENT * padded(self.head_dim)
    }

    fn layer(self) -> usize {
        self.kv_heads * self.head()
    }

    /// Elements of a segment.
    pub(crate) fn segment(self) -> usize {
        self.layers * self.layer()
    }
}

/// Keys and values of one head in one segment.
#[derive(Clone, Copy)]
pub(crate) struct HeadSegment<'a, E> {
    /// `[SEGMENT / BLOCK, head_dim, BLOCK]`.
    pub(crate) keys: &'a [E],
    /// `[SEGMENT, padded]`.
    pub(crate) values: &'a [E],
}

/// As [`HeadSegment`], to write to.
pub(crate) struct HeadSegmentMut<'a, E> {
    head_dim: usize,
    keys: &'a mut [E],
    values: &'a mut [E],
}

impl<E: Element> HeadSegmentMut<'_, E> {
    /// Stores the key and value at `slot` of the segment.
    pub(crate) fn store(&mut self, isa: Isa, slot: usize, key: &[f32], value: &[f32]) {
        let block = &mut self.keys[slot / BLOCK * BLOCK * self.head_dim..][..BLOCK * self.head_dim];
        isa.run(Narrow { from: key, to: &mut block[slot % BLOCK..], stride: BLOCK });
        let padded = self.values.len() / SEGMENT;
        isa.run(Narrow { from: value, to: &mut self.values[slot * padded..], stride: 1 });
    }
}

/// Writes element `i` of `from` to `to[i * stride]`.
struct Narrow<'a, E> {
    from: &'a [f32],
    to: &'a mut [E],
    stride: usize,
}

impl<E: Element> Kernel for Narrow<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let places = self.to.chunks_mut(LANES * self.stride);
        for (from, to) in self.from.chunks(LANES).zip(places) {
            let mut whole = [0.0; LANES];
            whole[..from.len()].copy_from_slice(from);
            let narrow = E::narrow(s, &whole);
            to.iter_mut().step_by(self.stride).zip(&narrow[..from.len()]).for_each(|(to, v)| *to = *v);
        }
    }
}

/// How many segments there are, over all caches that were made with a clone of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count(Arc<AtomicUsize>);

impl Count {
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// A segment, which counts while it is in memory.
struct Segment<E: Element> {
    values: Pages<E>,
    count: Count,
}

impl<E: Element> Segment<E> {
    fn zeroed(layout: Layout, count: &Count) -> Result<Self, Refusal> {
        let values = Pages::zeroed(layout.segment())?;
        count.0.fetch_add(1, Ordering::Relaxed);
        Ok(Self { values, count: count.clone() })
    }

    fn copied(from: &Self, layout: Layout) -> Result<Self, Refusal> {
        let mut to = Self::zeroed(layout, &from.count)?;
        to.values.copy_from_slice(&from.values);
        Ok(to)
    }
}

impl<E: Element> Drop for Segment<E> {
    fn drop(&mut self) {
        self.count.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Keys and values of one sequence.
pub(crate) struct KvCache<E: Element> {
    layout: Layout,
    count: Count,
    segments: Vec<Arc<Segment<E>>>,
}

impl<E: Element> KvCache<E> {
    pub(crate) fn new(layout: Layout, count: Count) -> Self {
        Self { layout, count, segments: Vec::new() }
    }

    /// The first `len` positions of this cache: whole segments in the same memory, the one that is to be written to copied.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub(crate) fn fork(&self, len: usize) -> Result<Self, Refusal> {
        let segments = self.segments.iter().take(len / SEGMENT).cloned().collect();
        let mut fork = Self { layout: self.layout, count: self.count.clone(), segments };
        if !len.is_multiple_of(SEGMENT) {
            fork.segments.push(Arc::new(Segment::copied(&self.segments[len / SEGMENT], self.layout)?));
        }
        Ok(fork)
    }

    /// Takes the segments that positions from `len`, the first to be written, to `positions` need, and makes those that
    /// are there this cache's own.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub(crate) fn reach(&mut self, len: usize, positions: usize) -> Result<(), Refusal> {
        for segment in len / SEGMENT..positions.div_ceil(SEGMENT) {
            self.own(segment)?;
        }
        Ok(())
    }

    /// A segment, to write to: taken if it is the next, copied if it is shared.
    fn own(&mut self, segment: usize) -> Result<&mut Segment<E>, Refusal> {
        if segment == self.segments.len() {
            self.segments.push(Arc::new(Segment::zeroed(self.layout, &self.count)?));
        }
        let place = &mut self.segments[segment];
        if Arc::strong_count(place) > 1 {
            *place = Arc::new(Segment::copied(place, self.layout)?);
        }
        let shared =
            || Refusal::new(Code::DeviceFailed, "KV cache", "a segment of one sequence", "a shared one");
        Arc::get_mut(place).ok_or_else(shared)
    }

    /// Gives back the segments that `positions` do not need.
    pub(crate) fn truncate(&mut self, positions: usize) {
        self.segments.truncate(positions.div_ceil(SEGMENT));
    }

    pub(crate) fn head(&self, layer: usize, head: usize, segment: usize) -> HeadSegment<'_, E> {
        let layout = self.layout;
        let start = layer * layout.layer() + head * layout.head();
        let (keys, values) = self.segments[segment].values[start..][..layout.head()].split_at(layout.keys());
        HeadSegment { keys, values }
    }

    /// Every head of a layer in one segment, to write to.
    ///
    /// # Errors
    /// `out_of_memory`, where [`reach`](Self::reach) did not make the segment this cache's own before.
    pub(crate) fn heads_mut(
        &mut self,
        layer: usize,
        segment: usize,
    ) -> Result<impl Iterator<Item = HeadSegmentMut<'_, E>>, Refusal> {
        let layout = self.layout;
        let layer = &mut self.own(segment)?.values[layer * layout.layer()..][..layout.layer()];
        Ok(layer.chunks_exact_mut(layout.head()).map(move |head| {
            let (keys, values) = head.split_at_mut(layout.keys());
            HeadSegmentMut { head_dim: layout.head_dim, keys, values }
        }))
    }

    /// Keys and values of the first `len` positions of a layer, each `[kv_heads, len, head_dim]`.
    pub(crate) fn copy(&self, layer: usize, len: usize) -> (Vec<f32>, Vec<f32>) {
        let Layout { kv_heads, head_dim, .. } = self.layout;
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for head in 0..kv_heads {
            for position in 0..len {
                let (segment, slot) = (position / SEGMENT, position % SEGMENT);
                let from = self.head(layer, head, segment);
                let block = &from.keys[slot / BLOCK * BLOCK * head_dim..][..BLOCK * head_dim];
                keys.extend(block.chunks_exact(BLOCK).map(|row| row[slot % BLOCK].to_f32()));
                let row = &from.values[slot * padded(head_dim)..][..head_dim];
                values.extend(row.iter().map(|v| v.to_f32()));
            }
        }
        (keys, values)
    }
}

#[cfg(test)]
mod tests;
