//! What several tests share.
#![allow(dead_code, unreachable_pub, reason = "each test file uses some of them")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

pub mod golden;

use tilewright_tile::Kernel;
use tilewright_tile::interp::{Bound, Dispatch, Fault, Memory, Program, Stats, run};

/// Runs the whole launch.
pub fn run_all(kernel: &Kernel, memory: &mut Memory, bound: &[Bound]) -> Result<Stats, Box<Fault>> {
    let program = Program::new(kernel);
    run(&program, memory, &Dispatch { groups: kernel.launch().groups, bound })
}

/// Numbers in -1..1 that look random.
pub fn noise(n: u32, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// Fails unless every pair is within `tolerance` of each other, relative to the larger one or one.
pub fn assert_close(got: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    for (i, (&g, &e)) in got.iter().zip(expected).enumerate() {
        let (g, scale) = (f64::from(g), e.abs().max(1.0));
        assert!((g - e).abs() <= tolerance * scale, "element {i}: {g} is not {e}");
    }
}
