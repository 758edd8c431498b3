//! Several sequences in one sweep over the weights.

#![allow(clippy::panic, reason = "helpers of tests")]

mod common;

use common::session::Session;
use common::{fixture, shape, some_ids};
use tilewright_kernels::decode::{Attention, Options};

const TOKENS: usize = 4;

/// Each sequence of a batch must have the bits of the same sequence alone.
fn check(name: &str, options: Options, sequences: u32) {
    let checkpoint = fixture(name);
    let shape = shape(&checkpoint, TOKENS);
    let ids: Vec<Vec<u32>> = (0..sequences).map(|n| some_ids(shape.vocab, TOKENS, n + 1)).collect();
    let mut batch = Session::new(&checkpoint, shape, options.sequences(sequences));
    for step in 0..TOKENS {
        let tokens: Vec<u32> = ids.iter().map(|ids| ids[step]).collect();
        batch.step(&tokens);
    }
    for (n, ids) in ids.iter().enumerate() {
        let mut alone = Session::new(&checkpoint, shape, options);
        ids.iter().for_each(|&id| drop(alone.step(&[id])));
        assert!(batch.left(n).bits() == alone.left(0).bits(), "{name}: sequence {n} of {sequences}");
    }
}

#[test]
fn a_sequence_has_the_same_bits_alone_and_in_a_batch() {
    for (options, sequences) in
        [(Options::F32, 2), (Options::INT8, 5), (Options::PAIRS, 3), (Options::INT4, 2)]
    {
        check("qwen3-tiny", options, sequences);
    }
    check("qwen2-bias", Options::F32.attention(Attention::SplitKeys { parts: 2 }), 3);
    check("llama-d64-odd-heads", Options::F16.attention(Attention::SimdPerHead), 2);
}

#[test]
fn thirty_two_sequences_share_a_sweep() {
    check("qwen3-tiny", Options::INT8, 32);
}

#[test]
fn sequences_stand_at_positions_of_their_own() {
    let checkpoint = fixture("qwen3-tiny");
    let shape = shape(&checkpoint, TOKENS);
    let ids: Vec<Vec<u32>> = (0..2).map(|n| some_ids(shape.vocab, TOKENS, n + 20)).collect();
    let mut batch = Session::new(&checkpoint, shape, Options::F32.sequences(2));
    // The second sequence idles at its first token for two steps, then begins.
    let mut rows = Vec::new();
    for step in 0..TOKENS + 2 {
        let first = step.min(TOKENS - 1);
        let second = step.saturating_sub(2);
        rows.push(batch.step_at(&[(ids[0][first], first as i32), (ids[1][second], second as i32)]));
    }
    for (n, delay) in [(0, 0), (1, 2)] {
        let mut alone = Session::new(&checkpoint, shape, Options::F32);
        for (step, &id) in ids[n].iter().enumerate() {
            assert!(alone.step(&[id])[0] == rows[step + delay][n], "sequence {n}, step {step}");
        }
    }
}
