//! The next token on the device: the largest logit, ties to the lowest id (C24).

use tilewright_tile::{Builder, Kernel, Launch, Scalar, Value, View, kernel};

use crate::shape::Shape;

/// Logits a threadgroup of the first launch looks at.
pub(crate) const CHUNK: u32 = 1024;

/// Threadgroups of the first launch.
pub const fn chunks(shape: &Shape) -> u32 {
    shape.vocab.div_ceil(CHUNK)
}

/// The best of each chunk of logits: `best` and its id `at`. A NaN is never the best; without any number the id is
/// `vocab`.
pub fn argmax_chunks(shape: &Shape, sequences: u32, logits: Scalar) -> Kernel {
    let name = named("decode_argmax_chunks", sequences, &format!("_{logits}"));
    best_of_chunks(name, shape, sequences, logits, |_| (), |logit, id| (logit, id))
}

/// As [`argmax_chunks`], after what `begin` says; `candidate` makes a logit and its id one.
pub(crate) fn best_of_chunks(
    name: String,
    shape: &Shape,
    sequences: u32,
    logits: Scalar,
    begin: impl FnOnce(&Builder),
    candidate: impl for<'k> Fn(Value<'k, f32>, Value<'k, i32>) -> Candidate<'k>,
) -> Kernel {
    let vocab = shape.vocab;
    kernel(name, Launch::grid([chunks(shape), sequences, 1]), |k| {
        let logits = k.read::<f32>("logits", [sequences, vocab]).stored(logits);
        let logits = logits.fill(f32::NEG_INFINITY).guarded_axes(&[1]);
        let best = k.write::<f32>("best", [sequences, chunks(shape)]);
        let at = k.write::<i32>("at", [sequences, chunks(shape)]);
        let (chunk, sequence) = (k.group_axis(0), k.group_axis(1));
        begin(k);

        let places = Places::scratch(k, vocab);
        let candidates = k.fold(k.thread_strided(CHUNK, 1), nothing(vocab), |best, i| {
            let id = chunk * CHUNK + i;
            better(best, candidate(logits.at((sequence, id)), id))
        });
        let (value, id) = places.best_of_all(k, candidates);
        best.set_from_thread(0, (sequence, chunk), value);
        at.set_from_thread(0, (sequence, chunk), id);
    })
}

/// The best of all chunks: the id `next` of each sequence.
pub fn argmax(shape: &Shape, sequences: u32) -> Kernel {
    let (vocab, chunks) = (shape.vocab, chunks(shape));
    kernel(named("decode_argmax", sequences, ""), Launch::groups(sequences), |k| {
        let best = k.read::<f32>("best", [sequences, chunks]);
        let at = k.read::<i32>("at", [sequences, chunks]);
        let next = k.write::<i32>("next", [sequences]);
        let sequence = k.group_id();

        let places = Places::scratch(k, vocab);
        let candidates = k.fold(k.thread_strided(chunks, 1), nothing(vocab), |found, chunk| {
            better(found, (best.at((sequence, chunk)), at.at((sequence, chunk))))
        });
        let (_, id) = places.best_of_all(k, candidates);
        next.set_from_thread(0, [sequence], id);
    })
}

/// `NAMESUFFIX`, and how many sequences if several.
pub(crate) fn named(name: &str, sequences: u32, suffix: &str) -> String {
    match sequences {
        1 => format!("{name}{suffix}"),
        n => format!("{name}{suffix}_batch{n}"),
    }
}

/// A logit and its id.
pub(crate) type Candidate<'k> = (Value<'k, f32>, Value<'k, i32>);

/// Worse than every number, under an id that no logit has.
pub(crate) fn nothing(vocab: u32) -> (f32, i32) {
    (f32::NEG_INFINITY, i32::try_from(vocab).unwrap_or(i32::MAX))
}

/// The one with the larger logit; of equal ones the one with the lower id.
pub(crate) fn better<'k>(a: Candidate<'k>, b: Candidate<'k>) -> Candidate<'k> {
    let wins = b.0.gt(a.0) | (b.0.eq(a.0) & b.1.lt(a.1));
    (wins.select(b.0, a.0), wins.select(b.1, a.1))
}

/// Where the SIMD groups of a threadgroup leave their best candidates.
pub(crate) struct Places<'k> {
    values: View<'k, f32>,
    ids: View<'k, i32>,
    vocab: u32,
}

impl<'k> Places<'k> {
    pub(crate) fn scratch(k: &'k Builder, vocab: u32) -> Self {
        let (value, id) = nothing(vocab);
        Self {
            values: k.scratch::<f32>("values_of", [k.simd_groups()]).fill(value),
            ids: k.scratch::<i32>("ids_of", [k.simd_groups()]).fill(id),
            vocab,
        }
    }

    /// The best candidate of all threads, in every thread. A barrier must stand between two uses.
    pub(crate) fn best_of_all(&self, k: &'k Builder, candidate: Candidate<'k>) -> Candidate<'k> {
        let (value, id) = self.best_of_lanes(candidate);
        self.values.set_from_lane(0, [k.simd_group()], value);
        self.ids.set_from_lane(0, [k.simd_group()], id);
        k.barrier();
        self.best_of_lanes((self.values.at([k.lane()]), self.ids.at([k.lane()])))
    }

    fn best_of_lanes(&self, (value, id): Candidate<'k>) -> Candidate<'k> {
        let most = value.simd_max();
        (most, value.eq(most).select(id, nothing(self.vocab).1).simd_min())
    }
}
