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

/// Fails unless every pair is within `tolerance` of each other, relative to the larger one or one.
pub fn assert_close(got: &[f32], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len());
    for (i, (&g, &e)) in got.iter().zip(expected).enumerate() {
        let (g, scale) = (f64::from(g), e.abs().max(1.0));
        assert!((g - e).abs() <= tolerance * scale, "element {i}: {g} is not {e}");
    }
}
