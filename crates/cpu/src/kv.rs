//! The KV cache of one sequence.
//!
//! Positions come in segments of [`SEGMENT`]; a segment holds every layer and head in one piece of memory and is
//! taken when the sequence reaches it, so a long context costs nothing until it is used. Segments are aligned to
//! absolute positions, and attention reduces segment by segment: that is what makes its results independent of
//! how a prompt was split.
//!
//! Within a segment a head has its keys, then its values, each as attention streams them: keys in blocks of
//! [`BLOCK`] with the position innermost (`[SEGMENT / BLOCK, head_dim, BLOCK]`), values row by row
//! (`[SEGMENT, padded]`, rows padded with zeros to whole vectors).

use bytemuck::Pod;
use half::f16;
use tilewright_model::{Config, Refusal};

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

/// Keys and values of one sequence.
pub(crate) struct KvCache<E: Element> {
    layout: Layout,
    segments: Vec<Pages<E>>,
}

impl<E: Element> KvCache<E> {
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout, segments: Vec::new() }
    }

    /// Takes the segments that `positions` need.
    ///
    /// # Errors
    /// `out_of_memory`.
    pub(crate) fn reach(&mut self, positions: usize) -> Result<(), Refusal> {
        while self.segments.len() * SEGMENT < positions {
            self.segments.push(Pages::zeroed(self.layout.segment())?);
        }
        Ok(())
    }

    /// Gives back the segments that `positions` do not need.
    pub(crate) fn truncate(&mut self, positions: usize) {
        self.segments.truncate(positions.div_ceil(SEGMENT));
    }

    pub(crate) fn head(&self, layer: usize, head: usize, segment: usize) -> HeadSegment<'_, E> {
        let layout = self.layout;
        let start = layer * layout.layer() + head * layout.head();
        let (keys, values) = self.segments[segment][start..][..layout.head()].split_at(layout.keys());
        HeadSegment { keys, values }
    }

    /// Every head of a layer in one segment, to write to.
    pub(crate) fn heads_mut(
        &mut self,
        layer: usize,
        segment: usize,
    ) -> impl Iterator<Item = HeadSegmentMut<'_, E>> {
        let layout = self.layout;
        let layer = &mut self.segments[segment][layer * layout.layer()..][..layout.layer()];
        layer.chunks_exact_mut(layout.head()).map(move |head| {
            let (keys, values) = head.split_at_mut(layout.keys());
            HeadSegmentMut { head_dim: layout.head_dim, keys, values }
        })
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
