//! The default model against its `reference.json`, which another program computed in float64 throughout.
//!
//! The reference forward is slow, so the whole held-out text (a minute on two cores) runs only when asked for:
//! `cargo test -p tilewright-model --test stories -- --ignored`.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failure here is a failed test, and what was observed is shown"
)]

use serde_json::Value;
use tilewright_model::Checkpoint;
use tilewright_model::reference::Reference;
use tilewright_model::tolerance::{Tolerance, compare};

fn stories() -> Reference {
    Reference::new(&Checkpoint::embedded().unwrap()).unwrap()
}

fn stored() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/stories-qwen3/reference.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn ids(list: &Value) -> Vec<u32> {
    list.as_array().unwrap().iter().map(|id| u32::try_from(id.as_u64().unwrap()).unwrap()).collect()
}

fn floats(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// The first `limit` tokens of every stored continuation.
fn check_greedy(limit: usize) {
    let (reference, stored) = (stories(), stored());
    for story in stored["greedy"].as_array().unwrap() {
        let (expected, margins) = (ids(&story["ids"]), floats(&story["margin"]));
        let count = expected.len().min(limit);
        let greedy = reference.greedy(&ids(&story["prompt_ids"]), count);
        assert_eq!(greedy.ids, expected[..count], "{}", story["prompt"]);
        let seen = compare(&greedy.margins, &margins[..count], Tolerance::STORED_MARGIN);
        eprintln!("{}: {count} tokens, largest error {:e}", story["prompt"], seen.unwrap().max_abs);
    }
}

#[test]
fn greedy_continuations_first_50_tokens() {
    check_greedy(50);
}

#[test]
#[ignore = "slow"]
fn greedy_continuations_whole() {
    check_greedy(usize::MAX);
}

#[test]
#[ignore = "slow"]
fn held_out_text_whole() {
    let (reference, stored) = (stories(), stored());
    let held_out = &stored["heldout"];
    let (ids, window) = (ids(&held_out["ids"]), held_out["window"].as_u64().unwrap() as usize);
    // Windows share their border: the last target of one is the first token of the next.
    let starts: Vec<usize> = (0..ids.len() - 1).step_by(window).collect();
    let nll = |&start: &usize| reference.nll(&ids[start..=(start + window).min(ids.len() - 1)]);
    let halves = starts.split_at(starts.len() / 2);
    let nll: Vec<f64> = std::thread::scope(|scope| {
        let second = scope.spawn(|| halves.1.iter().flat_map(nll).collect::<Vec<_>>());
        halves.0.iter().flat_map(nll).chain(second.join().unwrap()).collect()
    });
    assert_eq!(nll.len(), ids.len() - 1);
    let mean = nll.iter().sum::<f64>() / nll.len() as f64;
    compare(&[mean], &[held_out["nll_per_token"].as_f64().unwrap()], Tolerance::REFERENCE).unwrap();
}
