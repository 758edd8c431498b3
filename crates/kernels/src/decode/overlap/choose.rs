//! The end of a step: the id with the largest logit, and the next step's token and position.

use tilewright_tile::{Builder, Kernel, Launch, kernel};

use super::products::VECTORS;
use crate::decode::select::{self, Places, better, chunks, nothing};
use crate::shape::Shape;

/// The best of each chunk of logits; infinity under the id `vocab` where one of them is no finite number.
pub fn candidates(shape: &Shape) -> Kernel {
    let vocab = shape.vocab;
    let name = "overlap_candidates".to_owned();
    select::best_of_chunks(name, shape, 1, VECTORS, Builder::launch_barrier, |logit, id| {
        let wrong = id.lt(vocab) & !logit.abs().le(f32::MAX);
        (wrong.select(f32::INFINITY, logit), wrong.select(vocab as i32, id))
    })
}

/// The id of the best of all chunks goes to `ids` at the step's position and, with the position after it, to `control`.
/// With a logit that is no finite number it is `vocab`, which the next step's embedding holds within the vocabulary.
pub fn choose(shape: &Shape) -> Kernel {
    let (vocab, chunks, capacity) = (shape.vocab, chunks(shape), shape.capacity);
    kernel("overlap_choose", Launch::groups(1), |k| {
        let best = k.read::<f32>("best", [chunks]);
        let at = k.read::<i32>("at", [chunks]);
        let control = k.read_write::<i32>("control", [2]);
        let ids = k.write::<i32>("ids", [capacity]);
        let places = Places::scratch(k, vocab);
        k.launch_barrier();

        // Nobody but the thread that writes the next position may read this one.
        let first = k.thread().eq(0);
        let position = control.at_if(first, [1]).clamp(0, capacity - 1).named("position");
        let candidates = k.fold(k.thread_strided(chunks, 1), nothing(vocab), |found, chunk| {
            better(found, (best.at([chunk]), at.at([chunk])))
        });
        let (_, id) = places.best_of_all(k, candidates);
        ids.set_from_thread(0, [position], id);
        control.set_from_thread(0, [0], id);
        control.set_from_thread(0, [1], (position + 1).min(capacity - 1));
    })
}
