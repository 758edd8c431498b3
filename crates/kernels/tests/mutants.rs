//! A kernel of the model without one of its barriers, masks, conditions or guards is refused, faults, or computes
//! something else.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::collections::BTreeMap;

use tilewright_kernels::{Shape, decode};
use tilewright_tile::interp::{Bound, BufferId, Dispatch, Memory, Program, run};
use tilewright_tile::ir::Param;
use tilewright_tile::testing::mutate::mutants;
use tilewright_tile::{Kernel, Literal, Scalar, verify};

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

/// Bytes of a buffer that make sense under its name.
fn contents(memory: &mut Memory, name: &str, scalar: Scalar, elements: u64, seed: u32) -> BufferId {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    match (name, scalar) {
        // Token and position, the position in the middle of the cache.
        ("control", _) => {
            memory.i32(&(0..elements).map(|n| if n % 2 == 0 { 5 } else { 11 }).collect::<Vec<_>>())
        }
        (_, Scalar::I32) => {
            memory.i32(&(0..elements).map(|_| (next() >> 16) as i32 % 97).collect::<Vec<_>>())
        }
        (_, Scalar::F32 | Scalar::F16 | Scalar::Bf16) => {
            let noise = |_| (next() >> 8) as f32 / (1 << 23) as f32 - 1.0;
            memory.floats(&(0..elements).map(noise).collect::<Vec<_>>(), scalar)
        }
        // Words of packed pairs must not be infinite: exponents are held below the largest.
        (_, Scalar::U32) => memory.u32(&(0..elements).map(|_| next() & 0xbf7f_bf7f).collect::<Vec<_>>()),
        _ => memory.bytes((0..elements).map(|_| (next() >> 24) as u8).collect()),
    }
}

/// All bytes of all buffers after a run, or the fault.
fn outcome(kernel: &Kernel) -> Result<Vec<Vec<u8>>, String> {
    let mut memory = Memory::new();
    let mut ids = Vec::new();
    let mut bound = Vec::new();
    for (seed, &param) in (1..).zip(kernel.params()) {
        bound.push(match param {
            Param::Buffer(id) => {
                let buffer = &kernel.buffers()[id];
                let id = match buffer.access.reads() {
                    true => contents(&mut memory, &buffer.name, buffer.element, buffer.elements, seed),
                    false => memory.poison((buffer.elements * u64::from(buffer.element.bytes())) as usize),
                };
                ids.push(id);
                Bound::Buffer(memory.whole(id))
            }
            Param::Argument(id) => Bound::Scalar(match kernel.arguments()[id].scalar {
                Scalar::F32 => Literal::f32(1.5),
                _ => Literal::I32(kernel.arguments()[id].range.1 as i32 / 2),
            }),
        });
    }
    let dispatch = Dispatch { groups: kernel.launch().groups, bound: &bound };
    run(&Program::new(kernel), &mut memory, &dispatch).map_err(|fault| fault.to_string())?;
    Ok(ids.iter().map(|&id| memory.data(id).to_vec()).collect())
}

/// Every mutant of every kernel that `takes` accepts by its variant's name, at `shape`.
fn check(shape: &Shape, takes: impl Fn(&str) -> bool) {
    let (mut missed, mut spared) = (BTreeMap::new(), Vec::new());
    for entry in decode::ENTRIES {
        for variant in entry.variants.iter().filter(|variant| takes(variant.name)) {
            let (name, kernel) = (entry.full_name(variant), (variant.build)(shape));
            let expected = outcome(&kernel).unwrap_or_else(|fault| panic!("{name}: {fault}"));
            for mutant in mutants(&kernel) {
                let noticed = verify(mutant.kernel.clone()).is_err()
                    || outcome(&mutant.kernel).map_or(true, |result| result != expected);
                match noticed {
                    true => *missed.entry(entry.name).or_insert(0) += 1,
                    false => spared.push(format!("{name}: nobody misses the {}", mutant.removed)),
                }
            }
        }
    }
    assert!(spared.is_empty(), "{spared:#?}");
    assert!(missed.len() >= 15, "{missed:?}");
}

#[test]
fn every_safeguard_of_every_kernel_is_missed() {
    check(&ODD, |_| true);
}

#[test]
fn every_safeguard_is_missed_where_no_width_is_a_multiple_of_a_vector() {
    check(&NARROW, |variant| !["pairs", "int8", "int4"].iter().any(|format| variant.starts_with(format)));
}
