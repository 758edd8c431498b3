//! A kernel without one of its safeguards is refused, faults, or computes something else.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod common;

use common::run_all;
use tilewright_tile::interp::{Bound, Memory};
use tilewright_tile::ir::Param;
use tilewright_tile::testing::examples;
use tilewright_tile::testing::mutate::census;
use tilewright_tile::testing::trial::noise;
use tilewright_tile::{Kernel, verify};

/// All bytes of all buffers after a run on inputs of noise, or the fault.
fn outcome(kernel: &Kernel) -> Result<Vec<Vec<u8>>, String> {
    let mut memory = Memory::new();
    let mut ids = Vec::new();
    for (n, param) in kernel.params().iter().enumerate() {
        let Param::Buffer(id) = param else { continue };
        let buffer = &kernel.buffers()[*id];
        let data = noise(buffer.elements as u32, n as u32 + 1);
        ids.push(match buffer.access.reads() {
            true => memory.floats(&data, buffer.element),
            false => memory.poison((buffer.elements * u64::from(buffer.element.bytes())) as usize),
        });
    }
    let bound: Vec<Bound> = ids.iter().map(|&id| Bound::Buffer(memory.whole(id))).collect();
    run_all(kernel, &mut memory, &bound).map_err(|fault| fault.to_string())?;
    Ok(ids.iter().map(|&id| memory.data(id).to_vec()).collect())
}

#[test]
fn every_safeguard_of_the_examples_is_missed() {
    let kernels = examples::all().into_iter().chain([examples::gemm(37, 41, 19)]);
    let with_outcomes = kernels.map(|kernel| {
        let expected = outcome(&kernel).unwrap();
        (kernel, expected)
    });
    let census = census(with_outcomes, |_, mutant, expected| {
        verify(mutant.kernel.clone()).is_err()
            || outcome(&mutant.kernel).map_or(true, |result| result != *expected)
    });
    assert!(census.len() >= 15, "{census:#?}");
    assert!(census.values().all(|&missed| missed), "{census:#?}");
}
