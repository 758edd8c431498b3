//! What kernels over a chunk of a prompt share: its sizes, where it lies, and the moves between memories.

use tilewright_tile::{Builder, Scalar, Value, View};

use crate::shape::Shape;

/// A chunk: consecutive positions of one sequence, computed together.
///
/// Only the first `valid` of its rows hold tokens, a number that is known when the kernel runs. The others are
/// padding: zero in every activation and never in the cache (D46).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Rows there is room for, 1 to [`Chunk::MOST`].
    pub rows: u32,
    /// How activations (and float weights) are stored.
    pub activations: Scalar,
    /// How norms and biases are stored.
    pub vectors: Scalar,
    /// How keys and values are stored.
    pub cache: Scalar,
}

impl Chunk {
    /// The most rows a chunk may have (D41).
    pub const MOST: u32 = 4096;

    /// A chunk with weights, activations and cache in one type.
    pub const fn new(rows: u32, storage: Scalar) -> Self {
        Self { rows, activations: storage, vectors: storage, cache: storage }
    }

    /// Bytes of activations of `width` columns.
    pub(crate) fn bytes(&self, width: u32) -> u64 {
        u64::from(self.rows) * u64::from(width) * u64::from(self.activations.bytes())
    }

    /// Bytes of a vector of `width` weights.
    pub(crate) fn vector_bytes(&self, width: u32) -> u64 {
        u64::from(width) * u64::from(self.vectors.bytes())
    }

    /// Where the chunk lies: the position of its first row and how many rows hold tokens.
    ///
    /// `control` is `[2]`. What it holds is held within the cache and the chunk, so that it can be used in views.
    pub(crate) fn place<'k>(
        &self,
        shape: &Shape,
        control: View<'k, i32>,
    ) -> (Value<'k, i32>, Value<'k, i32>) {
        let start = control.at([0]).clamp(0, shape.capacity - 1);
        let valid = control.at([1]).clamp(0, self.rows);
        (start.named("start"), valid.named("valid"))
    }

    /// One past the last position that the valid ones of the rows `first..first + count` may see; 0 without such.
    pub(crate) fn horizon<'k>(
        &self,
        shape: &Shape,
        (start, valid): (Value<'k, i32>, Value<'k, i32>),
        first: Value<'k, i32>,
        count: u32,
    ) -> Value<'k, i32> {
        let end = (start + (first + count).min(valid)).min(shape.capacity);
        first.lt(valid).select(end, 0).named("horizon")
    }
}

/// Brings a `rows × columns` part of a matrix, its first element at `at`, into shared memory: all threads together,
/// four neighbours at a time.
pub(crate) fn stage<'k>(
    k: &'k Builder,
    (rows, columns): (u32, u32),
    from: View<'k, f32>,
    at: [Value<'k, i32>; 2],
    to: View<'k, f32>,
) {
    each_four(k, (rows, columns / 4), (k.threads(), k.thread()), |row, four| {
        let column = four * 4;
        to.set4((row, column), from.at4((at[0] + row, at[1] + column)));
    });
}

/// Visits `rows × fours` places by `count` threads of which this is number `me`: neighbours along a row where a row
/// divides them, else a SIMD group a row.
pub(crate) fn each_four<'k>(
    k: &'k Builder,
    (rows, fours): (u32, u32),
    (count, me): (u32, Value<'k, i32>),
    mut visit: impl FnMut(Value<'k, i32>, Value<'k, i32>),
) {
    if count.is_multiple_of(fours) {
        k.each(k.range(me, rows * fours).step(count), |i| visit(i / fours, i % fours));
    } else {
        let simds = count / 32;
        k.each(k.range(me / 32, rows).step(simds), |row| {
            k.each(k.lane_strided(fours, 1), |four| visit(row, four));
        });
    }
}
