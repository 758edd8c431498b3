//! The control buffer: what each sequence does in this step.

use tilewright_tile::{Builder, Value, View};

use crate::shape::Shape;

/// Token and position of every sequence, `[sequences, 2]`.
#[derive(Clone, Copy)]
pub(crate) struct Control<'k> {
    words: View<'k, i32>,
    shape: Shape,
}

impl<'k> Control<'k> {
    pub(crate) fn read(k: &'k Builder, shape: &Shape, sequences: u32) -> Self {
        Self { words: k.read::<i32>("control", [sequences, 2]), shape: *shape }
    }

    /// The token a sequence is given, held within the vocabulary.
    pub(crate) fn token(&self, sequence: Value<'k, i32>) -> Value<'k, i32> {
        self.words.at((sequence, 0)).clamp(0, self.shape.vocab - 1).named("token")
    }

    /// The position it stands at, held within the cache.
    pub(crate) fn position(&self, sequence: Value<'k, i32>) -> Value<'k, i32> {
        self.words.at((sequence, 1)).clamp(0, self.shape.capacity - 1).named("position")
    }
}
