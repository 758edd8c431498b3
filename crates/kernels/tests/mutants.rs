//! A kernel of the model without one of its barriers, masks, conditions or guards is refused, faults, or computes
//! something else.

#![allow(clippy::panic, reason = "helpers of tests")]

use std::ops::RangeInclusive;

use tilewright_kernels::{Shape, attention, catalogue, decode, prefill};
use tilewright_tile::testing::mutate::{Mutant, mutants};
use tilewright_tile::testing::trial::Trial;
use tilewright_tile::{Kernel, verify};

/// Sizes that leave every group, SIMD group and lane something to lose: no width is a multiple of a threadgroup's.
const ODD: Shape = Shape {
    hidden: 200,
    heads: 6,
    kv_heads: 3,
    head_dim: 48,
    intermediate: 104,
    vocab: 1100,
    layers: 2,
    capacity: 19,
    norm_eps: 1e-6,
    qk_norm: true,
    qkv_bias: true,
    tied: true,
};

/// Widths that no vector access divides, for floats only.
const NARROW: Shape =
    Shape { hidden: 66, heads: 3, kv_heads: 1, head_dim: 22, intermediate: 50, vocab: 1030, ..ODD };

/// A chunk of 21 rows, in a cache that tiles of 8 and 16 do not divide; widths that tiles of products do.
const CHUNK: Shape = Shape {
    hidden: 64,
    heads: 4,
    kv_heads: 2,
    head_dim: 16,
    intermediate: 96,
    vocab: 100,
    capacity: 21,
    qkv_bias: true,
    ..ODD
};

/// Tokens, positions in the middle of the cache, and counts of rows that leave some as padding.
const INTEGERS: RangeInclusive<i32> = 4..=13;

/// What is changed in the memory of a trial before it runs.
type Prepare = fn(&mut Trial, &Kernel);

fn as_it_is(_: &mut Trial, _: &Kernel) {}

/// Rows of a chunk from position 4, of which 13 hold tokens; values of positions after them are NaN, for nobody may
/// touch them, not even with the weight zero.
fn with_a_future(trial: &mut Trial, kernel: &Kernel) {
    let control = [4i32, 13];
    trial.give(kernel, "control", control.iter().flat_map(|n| n.to_le_bytes()).collect());
    let bytes = kernel.buffers().iter().find(|(_, b)| b.name == "values").map(|(_, b)| b.element.bytes());
    let (Some(id), Some(bytes)) = (trial.buffer("values"), bytes) else { panic!("no values") };
    let row = (CHUNK.head_dim * bytes) as usize;
    for (n, row) in trial.memory.data_mut(id).chunks_mut(row).enumerate() {
        if n % CHUNK.capacity as usize >= (control[0] + control[1]) as usize {
            row.fill(0xff);
        }
    }
}

/// Whether the verifier, the interpreter or a result objects to a mutant.
fn is_missed(kernel: &Kernel, mutant: &Mutant, prepare: Prepare) -> bool {
    verify(mutant.kernel.clone()).is_err()
        || (1..=2).any(|seed| {
            let mut trial = Trial::new(kernel, seed, &INTEGERS);
            prepare(&mut trial, kernel);
            let (expected, _) = trial.run(kernel).unwrap_or_else(|fault| panic!("{fault}"));
            trial.run(&mutant.kernel).map_or(true, |(got, _)| trial.difference(&expected, &got).is_some())
        })
}

/// Every mutant of every kernel that `takes` accepts by its variant's name, at `shape`; what begins with one of `spare`
/// may go unnoticed.
fn check(
    entries: &'static [catalogue::Entry],
    shape: &Shape,
    takes: impl Fn(&str) -> bool,
    prepare: Prepare,
    spare: &[&str],
) {
    let (mut missed, mut spared) = (0, Vec::new());
    for entry in entries.iter().filter(|entry| (entry.fits)(shape)) {
        for variant in entry.variants.iter().filter(|variant| takes(variant.name)) {
            let (name, kernel) = (entry.full_name(variant), (variant.build)(shape));
            for mutant in mutants(&kernel) {
                match is_missed(&kernel, &mutant, prepare) {
                    true => missed += 1,
                    false => spared.push(format!("{name}: nobody misses the {}", mutant.removed)),
                }
            }
        }
    }
    spared.retain(|line| !spare.iter().any(|what| line.contains(&format!("misses the {what}"))));
    assert!(spared.is_empty(), "{spared:#?}");
    assert!(missed >= 30, "{missed}");
}

#[test]
fn every_safeguard_of_decode_is_missed() {
    check(decode::ENTRIES, &ODD, |_| true, as_it_is, &[]);
}

#[test]
fn every_safeguard_of_decode_is_missed_where_no_width_is_a_multiple_of_a_vector() {
    let quantised = ["pairs", "int8", "int4"];
    let floats = |variant: &str| !quantised.iter().any(|format| variant.starts_with(format));
    check(decode::ENTRIES, &NARROW, floats, as_it_is, &[]);
}

#[test]
fn every_safeguard_of_prefill_is_missed() {
    // A tile of a product can reach beyond 21 rows but not beyond these widths.
    check(prefill::ENTRIES, &CHUNK, |_| true, as_it_is, &["guard"]);
}

#[test]
fn every_safeguard_of_attention_is_missed() {
    // A score with a future key is masked whatever it is.
    check(attention::ENTRIES, &CHUNK, |_| true, with_a_future, &["guard", "limit of axis 1 of view keys"]);
}
