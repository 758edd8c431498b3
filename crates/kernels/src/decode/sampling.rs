//! What sampling needs on the device: the largest logits in order, and a softmax that leaves out masked ids.

use tilewright_tile::{Builder, Kernel, Launch, Scalar, Value, kernel};

use crate::shape::Shape;

use super::select::{CHUNK, Candidate, Places, better, chunks, named, nothing};

/// The `count` best of each chunk of logits, best first; of equal logits the lower id is better. Where a chunk has
/// fewer numbers the rest is (−∞, `vocab`).
pub fn top_chunks(shape: &Shape, sequences: u32, logits: Scalar, count: u32) -> Kernel {
    let (vocab, chunks) = (shape.vocab, chunks(shape));
    let name = named("decode_top_chunks", sequences, &format!("_{logits}_best{count}"));
    kernel(name, Launch::grid([chunks, sequences, 1]), |k| {
        let logits = k.read::<f32>("logits", [sequences, vocab]).stored(logits);
        let logits = logits.fill(f32::NEG_INFINITY).guarded_axes(&[1]);
        let best = k.write::<f32>("best", [sequences, chunks, count]);
        let at = k.write::<i32>("at", [sequences, chunks, count]);
        let (chunk, sequence) = (k.group_axis(0), k.group_axis(1));

        let candidate = |i| {
            let id = chunk * CHUNK + i;
            (logits.at((sequence, id)), id)
        };
        in_order(k, vocab, CHUNK, count, &candidate, |rank, (value, id)| {
            best.set_from_thread(0, (sequence, chunk, rank), value);
            at.set_from_thread(0, (sequence, chunk, rank), id);
        });
    })
}

/// The `count` best of what the chunks left: `top` and their ids `ids`, best first.
pub fn top(shape: &Shape, sequences: u32, count: u32) -> Kernel {
    let (vocab, chunks) = (shape.vocab, chunks(shape));
    let name = named("decode_top", sequences, &format!("_best{count}"));
    kernel(name, Launch::groups(sequences), |k| {
        let best = k.read::<f32>("best", [sequences, chunks * count]);
        let at = k.read::<i32>("at", [sequences, chunks * count]);
        let top = k.write::<f32>("top", [sequences, count]);
        let ids = k.write::<i32>("ids", [sequences, count]);
        let sequence = k.group_id();

        let candidate = |i| (best.at((sequence, i)), at.at((sequence, i)));
        in_order(k, vocab, chunks * count, count, &candidate, |rank, (value, id)| {
            top.set_from_thread(0, (sequence, rank), value);
            ids.set_from_thread(0, (sequence, rank), id);
        });
    })
}

/// Finds the best of `width` candidates that comes after the one found before, `count` times.
fn in_order<'k>(
    k: &'k Builder,
    vocab: u32,
    width: u32,
    count: u32,
    candidate: &dyn Fn(Value<'k, i32>) -> Candidate<'k>,
    mut put: impl FnMut(Value<'k, i32>, Candidate<'k>),
) {
    let places = Places::scratch(k, vocab);
    k.fold(0..count, (f32::INFINITY, -1), |before, rank| {
        let found = k.fold(k.thread_strided(width, 1), nothing(vocab), |found, i| {
            let (value, id) = candidate(i);
            let after = value.lt(before.0) | (value.eq(before.0) & id.gt(before.1));
            let next = better(found, (value, id));
            (after.select(next.0, found.0), after.select(next.1, found.1))
        });
        let found = places.best_of_all(k, found);
        put(rank, found);
        k.barrier();
        found
    });
}

/// `softmax(logits / temperature)` over the ids whose `mask` is not zero; the others get zero. One threadgroup a
/// sequence. With every id masked all are zero.
pub fn masked_softmax(shape: &Shape, sequences: u32, logits: Scalar) -> Kernel {
    let vocab = shape.vocab;
    let name = named("decode_masked_softmax", sequences, &format!("_{logits}"));
    kernel(name, Launch::groups(sequences).threads(1024), |k| {
        let logits = k.read::<f32>("logits", [sequences, vocab]).stored(logits);
        let mask = k.read::<u8>("mask", [sequences, vocab]);
        let temperature = k.argument_f32("temperature");
        let probabilities = k.write::<f32>("probabilities", [sequences, vocab]);
        let sequence = k.group_id();

        let score = |id| {
            let allowed = mask.at((sequence, id)).u32().ne(0u32);
            (allowed, logits.at((sequence, id)) / temperature)
        };
        let ids = || k.thread_strided(vocab, 1);
        let most = k.fold(ids(), f32::NEG_INFINITY, |most, id| {
            let (allowed, score) = score(id);
            allowed.select(most.max(score), most)
        });
        let most = k.threadgroup_max(most);
        let weight = |id| {
            let (allowed, score) = score(id);
            allowed.select((score - most).exp(), 0.0)
        };
        let sum = k.threadgroup_sum(k.fold(ids(), 0.0, |sum, id| sum + weight(id)));
        let whole = sum.gt(0.0).select(sum, 1.0);
        k.each(ids(), |id| probabilities.set((sequence, id), weight(id) / whole));
    })
}
