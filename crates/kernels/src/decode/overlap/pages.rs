//! Pages of a cache: how many, and which of them has a position.
//!
//! A page is `[layers, kv_heads, 2, positions, head_dim]`, and the scales of codes `[layers, kv_heads, 2, positions]`, with
//! positions in either [`Layout`](crate::decode::Layout).

use tilewright_tile::pipeline::Region;
use tilewright_tile::{Builder, Scalar, Value};

use crate::decode::options::{Options, PAGE};
use crate::shape::Shape;

/// The pages of a cache.
#[derive(Clone, Copy)]
pub(super) struct Pages {
    capacity: u32,
    /// Bytes from one to the next; `None` where there is one alone.
    stride: Option<u64>,
}

impl Pages {
    pub(super) const fn of(shape: &Shape, options: &Options) -> Self {
        Self { capacity: shape.capacity, stride: options.pages }
    }

    /// Positions of one.
    pub(super) const fn positions(self) -> u32 {
        if self.stride.is_some() { PAGE } else { self.capacity }
    }

    pub(super) const fn count(self) -> u32 {
        if self.stride.is_some() { self.capacity.div_ceil(PAGE) } else { 1 }
    }

    /// Elements of a type from one to the next, where there is a next.
    pub(super) const fn stride(self, of: Scalar) -> u64 {
        match self.stride {
            Some(bytes) => bytes / of.bytes() as u64,
            None => 0,
        }
    }

    /// The page of a position, and its place in it.
    pub(super) fn place<'k>(
        self,
        k: &'k Builder,
        position: Value<'k, i32>,
    ) -> (Value<'k, i32>, Value<'k, i32>) {
        match self.stride {
            Some(_) => (position / PAGE, position % PAGE),
            None => (k.i32(0), position),
        }
    }

    /// The same in units of some neighbouring positions.
    pub(super) fn unit<'k>(
        self,
        k: &'k Builder,
        unit: Value<'k, i32>,
        positions: u32,
    ) -> (Value<'k, i32>, Value<'k, i32>) {
        match self.stride {
            Some(_) => (unit / (PAGE / positions), unit % (PAGE / positions)),
            None => (k.i32(0), unit),
        }
    }

    /// Where layers lie that have `bytes` for each position.
    pub(super) const fn layers(self, bytes: u64) -> Layers {
        let each = bytes * self.positions() as u64;
        let before = match self.stride {
            Some(stride) => stride * (self.count() as u64 - 1),
            None => 0,
        };
        Layers { each, reach: before + each }
    }
}

/// Layers that take turns in every page.
#[derive(Clone, Copy)]
pub(super) struct Layers {
    /// Bytes from one to the next.
    each: u64,
    /// Bytes from the first of one in the first page to its last in the last.
    reach: u64,
}

impl Layers {
    /// Bytes of so many.
    pub(super) const fn bytes(self, count: u64) -> u64 {
        (count - 1) * self.each + self.reach
    }

    /// One of them.
    pub(super) fn layer(self, all: Region, layer: u32) -> Region {
        all.part(u64::from(layer) * self.each, self.reach)
    }
}
