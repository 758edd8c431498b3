//! Staged decode and the megakernel against the float64 reference: logits of every position, keys and values of every
//! layer.

#![allow(clippy::print_stderr, reason = "what was observed is shown")]

mod common;

use common::session::{Loaded, Session};
use common::{FIXTURES, fixture, reference, shape, some_ids};
use tilewright_kernels::decode::{Attention, Goal, Options};
use tilewright_kernels::parts::Arithmetic;
use tilewright_model::tolerance::Tolerance;

const TOKENS: usize = 9;

/// Decodes `TOKENS` ids of a fixture and compares everything.
fn check(name: &str, options: Options) {
    let checkpoint = fixture(name);
    let shape = shape(&checkpoint, TOKENS);
    let ids = some_ids(shape.vocab, TOKENS, 7);
    let mut session = Session::new(&checkpoint, shape, options);
    ids.iter().for_each(|&id| drop(session.step(&[id])));
    let run = reference(&checkpoint).forward(&ids);
    let (logits, cache) = session.left(0).compare(&run, Tolerance::F32_STATE, name);
    eprintln!("{name}: largest error of logits {:e}, of the cache {:e}", logits.max_abs, cache.max_abs);
}

#[test]
fn staged_decode_agrees_with_the_reference_on_every_fixture() {
    FIXTURES.iter().for_each(|name| check(name, Options::F32));
}

#[test]
fn every_form_of_attention_agrees_with_the_reference() {
    for attention in [Attention::SimdPerHead, Attention::SplitKeys { parts: 3 }] {
        for name in ["qwen3-tiny", "qwen2-bias", "llama-d64-odd-heads", "qwen3-d128-wide-q"] {
            check(name, Options::F32.attention(attention));
        }
    }
}

#[test]
fn separately_rounded_rows_agree_with_the_reference() {
    check("qwen3-tiny", Options::F32.arithmetic(Arithmetic::Separate));
}

#[test]
fn tokens_without_logits_leave_the_same_cache() {
    let checkpoint = fixture("qwen3-tiny");
    let shape = shape(&checkpoint, TOKENS);
    let ids = some_ids(shape.vocab, TOKENS, 11);
    let left = |goal| {
        let loaded = Loaded::new(&checkpoint, &shape, Options::F32.weights);
        let mut session = Session::of(loaded, shape, Options::F32, goal);
        ids.iter().for_each(|&id| drop(session.step(&[id])));
        let left = session.left(0);
        (left.keys, left.values)
    };
    assert_eq!(left(Goal::Cache), left(Goal::Logits));
}
