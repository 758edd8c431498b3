//! A kernel of the model without one of its barriers, masks, conditions or guards is refused, faults, computes
//! something else, or reads what it does not need.

#![allow(clippy::panic, reason = "helpers of tests")]

use std::ops::RangeInclusive;

use tilewright_kernels::catalogue::Entry;
use tilewright_kernels::prefill::tiers::{self, Role};
use tilewright_kernels::{Format, Shape, attention, decode, prefill};
use tilewright_tile::testing::mutate::{Mutant, census};
use tilewright_tile::testing::trial::Trial;
use tilewright_tile::{Kernel, Scalar, verify};

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

/// The same as [`ODD`] and [`NARROW`] with room for more positions than attention of the overlapping step takes in one pass.
const LONG: [Shape; 2] = [Shape { capacity: 150, ..ODD }, Shape { capacity: 150, ..NARROW }];

/// Heads and a capacity that a cache of fragments takes.
const LYING: Shape = Shape { hidden: 192, heads: 3, kv_heads: 1, head_dim: 64, capacity: 160, ..ODD };

/// A position in the second pass, of which a SIMD group has a part of what it takes at a time.
const LATER: i32 = 137;

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

/// The same with widths that tiles of 32 divide but those of 64 do not.
const UNEVEN: Shape = Shape { hidden: 96, heads: 3, kv_heads: 1, head_dim: 32, intermediate: 160, ..CHUNK };

/// The same with widths that are multiples of 4 only.
const RAGGED: Shape = Shape { hidden: 68, heads: 3, kv_heads: 1, head_dim: 20, intermediate: 76, ..CHUNK };

/// Tokens, positions in the middle of the cache, and counts of rows that leave some as padding.
const INTEGERS: RangeInclusive<i32> = 4..=13;

/// What is changed in the memory of a trial before it runs.
type Prepare = fn(&mut Trial, &Kernel, &Shape);

fn as_it_is(_: &mut Trial, _: &Kernel, _: &Shape) {}

/// The token stands at [`LATER`] where the cache has it.
fn late(trial: &mut Trial, kernel: &Kernel, shape: &Shape) {
    if shape.capacity as i32 > LATER {
        trial.give(kernel, "control", [7, LATER].iter().flat_map(|n: &i32| n.to_le_bytes()).collect());
    }
}

/// Rows of a chunk from position 4, of which 13 hold tokens; keys and values of later positions are unwritten, for
/// nobody may touch them, not even to mask the score or with the weight zero.
fn with_a_future(trial: &mut Trial, kernel: &Kernel, shape: &Shape) {
    let (start, valid) = (4u32, 13);
    trial.give(kernel, "control", [start, valid].iter().flat_map(|n| n.to_le_bytes()).collect());
    for name in ["keys", "values"] {
        let element = kernel.buffers().iter().find(|(_, b)| b.name == name).map(|(_, b)| b.element.bytes());
        let (Some(id), Some(element)) = (trial.buffer(name), element) else { panic!("no {name}") };
        let row = u64::from(shape.head_dim * element);
        for head in 0..shape.kv_heads {
            let first = head * shape.capacity + start + valid;
            let future = shape.capacity - start - valid;
            let whole = trial.memory.whole(id);
            trial.memory.forget_part(whole.part(u64::from(first) * row, u64::from(future) * row));
        }
    }
}

/// Whether the verifier, the interpreter, a result or the count of reads objects to a mutant.
fn is_missed(kernel: &Kernel, mutant: &Mutant, shape: &Shape, prepare: Prepare) -> bool {
    verify(mutant.kernel.clone()).is_err()
        || (1..=2).any(|seed| {
            let mut trial = Trial::new(kernel, seed, &INTEGERS);
            prepare(&mut trial, kernel, shape);
            let (expected, needed) = trial.run(kernel).unwrap_or_else(|fault| panic!("{fault}"));
            trial.run(&mutant.kernel).map_or(true, |(got, stats)| {
                stats.reads > needed.reads || trial.difference(&expected, &got).is_some()
            })
        })
}

/// The kernels of some entries, in the variants that `takes` accepts, at each shape that they fit.
fn of(
    entries: &'static [Entry],
    shapes: &'static [Shape],
    takes: impl Fn(&str) -> bool + Copy,
) -> impl Iterator<Item = (Kernel, &'static Shape)> {
    shapes.iter().flat_map(move |shape| {
        let there = entries.iter().filter(|entry| (entry.fits)(shape));
        let variants = there.flat_map(|entry| entry.variants).filter(move |variant| takes(variant.name));
        variants.map(move |variant| ((variant.build)(shape), shape))
    })
}

/// Products whose scales are for groups of columns that a tile reaches beyond.
fn small_groups() -> impl Iterator<Item = (Kernel, &'static Shape)> {
    let tiers = [tiers::original, tiers::bm64, tiers::vecload4, tiers::msl, tiers::splitk, tiers::tensor];
    let scales = [Scalar::Bf16, Scalar::F16];
    let formats = scales.map(|scale| Format::Int8 { group: 8, scale });
    let formats = formats.into_iter().chain(scales.map(|scale| Format::Int4 { group: 8, scale }));
    formats.flat_map(move |format| {
        // 4-bit codes come eight at a time.
        let inner = if matches!(format, Format::Int4 { .. }) { 104 } else { 100 };
        tiers.into_iter().flat_map(move |tier| {
            Role::ALL.map(|role| {
                let product =
                    tiers::Product { role, rows: 21, columns: 36, beside: [0; 2], part: "", inner, format };
                (tier(&product), &RAGGED)
            })
        })
    })
}

/// Takes kernels whose names have this part.
fn named(part: &str) -> impl Fn(&(Kernel, &'static Shape)) -> bool {
    move |(kernel, _)| kernel.name().contains(part)
}

/// Fails unless each safeguard of every kernel is missed.
fn check(kernels: impl Iterator<Item = (Kernel, &'static Shape)>, prepare: Prepare) {
    let census = census(kernels, |kernel, mutant, shape| is_missed(kernel, mutant, shape, prepare));
    assert!(census.len() >= 30, "{census:#?}");
    let spared: Vec<_> = census.iter().filter(|(_, missed)| !**missed).collect();
    assert!(spared.is_empty(), "nobody misses {spared:#?}");
}

#[test]
fn every_safeguard_of_decode_is_missed() {
    let later = of(decode::ENTRIES, &LONG[..1], |_| true).filter(named("overlap_attention"));
    let lying = of(decode::ENTRIES, &[LYING], |_| true).filter(named("_fragments"));
    check(of(decode::ENTRIES, &[ODD], |_| true).chain(later).chain(lying), late);
}

#[test]
fn every_safeguard_of_decode_is_missed_where_no_width_is_a_multiple_of_a_vector() {
    let quantised = ["pairs", "int8", "int4", "q8_0", "q4_0", "q4_k", "q6_k", "qk", "v"];
    let floats = |variant: &str| !quantised.iter().any(|format| variant.starts_with(format));
    let later = of(decode::ENTRIES, &LONG[1..], floats);
    let later = later.filter(named("overlap_attention"));
    check(of(decode::ENTRIES, &[NARROW], floats).chain(later), late);
}

#[test]
fn every_safeguard_of_prefill_is_missed() {
    check(of(prefill::ENTRIES, &[CHUNK, UNEVEN, RAGGED], |_| true).chain(small_groups()), as_it_is);
}

#[test]
fn every_safeguard_of_attention_is_missed() {
    check(of(attention::ENTRIES, &[CHUNK, RAGGED], |_| true), with_a_future);
}
