//! The default model writes its stories through the kernels.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests; what was observed is shown"
)]

mod common;

use common::session::{Loaded, Session};
use common::some_ids;
use serde_json::Value;
use tilewright_kernels::Shape;
use tilewright_kernels::decode::{Goal, Options};
use tilewright_model::Checkpoint;
use tilewright_model::reference::Reference;
use tilewright_model::tolerance::Tolerance;
use tilewright_tile::Scalar;

fn ids(list: &Value) -> Vec<u32> {
    list.as_array().unwrap().iter().map(|id| u32::try_from(id.as_u64().unwrap()).unwrap()).collect()
}

/// Decodes the first stored story with each token chosen on the device, `count` tokens of it.
fn story(options: Options, count: usize) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/stories-qwen3/reference.json");
    let stored: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let story = &stored["greedy"][0];
    let (prompt, expected) = (ids(&story["prompt_ids"]), ids(&story["ids"]));
    let count = count.min(expected.len());

    let checkpoint = Checkpoint::embedded().unwrap();
    let shape = Shape::new(checkpoint.config(), (prompt.len() + count) as u32);
    let loaded = Loaded::new(&checkpoint, &shape, options.weights);
    let mut session = Session::of(loaded, shape, options, Goal::Token);
    prompt.iter().for_each(|&id| drop(session.step(&[id])));
    let mut written = vec![u32::try_from(session.next()[0]).unwrap()];
    while written.len() < count {
        session.step(&[written[written.len() - 1]]);
        written.push(u32::try_from(session.next()[0]).unwrap());
    }
    assert_eq!(written, expected[..count]);
}

#[test]
fn the_first_story_begins_as_stored() {
    story(Options::F32, 24);
    story(Options::PAIRS, 8);
}

#[test]
#[ignore = "slow: half a minute"]
fn sixty_four_tokens_of_the_first_story_are_as_stored() {
    story(Options::F32, 64);
}

#[test]
fn the_best_logits_are_those_the_host_would_sort_out() {
    let checkpoint = Checkpoint::embedded().unwrap();
    let shape = Shape::new(checkpoint.config(), 3);
    let loaded = Loaded::new(&checkpoint, &shape, Options::INT8.weights);
    let mut session = Session::of(loaded, shape, Options::INT8, Goal::Best { count: 10 });
    let logits = session.step(&[500]).remove(0);
    let mut sorted: Vec<(f32, i32)> = logits.into_iter().zip(0..).collect();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let (memory, buffers) = (&session.loaded.memory, &session.loaded.buffers);
    let ids = memory.read_i32(buffers["ids"]).into_iter().map(Option::unwrap);
    let got: Vec<(f32, i32)> = memory.read_f32(buffers["top"], Scalar::F32).into_iter().zip(ids).collect();
    assert_eq!(got, sorted[..10]);
}

#[test]
fn logits_and_cache_of_the_stories_model_agree_with_the_reference() {
    let checkpoint = Checkpoint::embedded().unwrap();
    let shape = Shape::new(checkpoint.config(), 12);
    let ids = some_ids(shape.vocab, 10, 9);
    let mut session = Session::new(&checkpoint, shape, Options::F32);
    ids.iter().for_each(|&id| drop(session.step(&[id])));
    let run = Reference::new(&checkpoint).unwrap().forward(&ids);
    let (logits, cache) = session.left(0).compare(&run, Tolerance::F32_STATE, "stories");
    eprintln!("stories: logits {:e}, cache {:e}", logits.max_abs, cache.max_abs);
}
