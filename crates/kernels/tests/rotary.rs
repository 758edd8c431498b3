//! The rotary tables against float64.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests; what was observed is shown"
)]

mod common;

use tilewright_kernels::decode::rotary::{Trigonometry, table, table_of_frequencies};
use tilewright_kernels::{Shape, host};
use tilewright_model::tolerance::{Tolerance, compare};
use tilewright_tile::interp::{Bound, Dispatch, Memory, Program, run};
use tilewright_tile::{Kernel, Literal, Scalar, verify};

/// Runs a table kernel: `inputs`, then the scalar, then the table. Its arguments stand in order of declaration.
fn run_table(kernel: Kernel, shape: &Shape, frequencies: Option<&[f32]>, scalar: f32) -> Vec<f32> {
    let kernel = verify(kernel).unwrap_or_else(|e| panic!("{e}"));
    let mut memory = Memory::new();
    let mut bound = Vec::new();
    if let Some(frequencies) = frequencies {
        let buffer = memory.f32(frequencies);
        bound.push(Bound::Buffer(memory.whole(buffer)));
    }
    let out = memory.poison((shape.capacity * shape.head_dim * 4) as usize);
    bound.extend([Bound::Scalar(Literal::f32(scalar)), Bound::Buffer(memory.whole(out))]);
    let dispatch = Dispatch { groups: kernel.launch().groups, bound: &bound };
    run(&Program::new(&kernel), &mut memory, &dispatch).unwrap_or_else(|fault| panic!("{fault}"));
    memory.read_f32(out, Scalar::F32)
}

fn check(what: &str, got: &[f32], want: &[f32]) {
    let want: Vec<f64> = want.iter().map(|&x| f64::from(x)).collect();
    let seen = compare(got, &want, Tolerance::F32_STATE).unwrap_or_else(|e| panic!("{what}: {e}"));
    eprintln!("{what}: largest error {:e}", seen.max_abs);
}

#[test]
fn the_plain_table_is_that_of_the_host_up_to_5_120_positions() {
    let checkpoint = tilewright_model::Checkpoint::embedded().unwrap();
    let shape = Shape::new(checkpoint.config(), 5120);
    let rope = &checkpoint.config().rope;
    let want = host::rotary(rope, &shape);
    for trigonometry in [Trigonometry::Fast, Trigonometry::Precise] {
        let got = run_table(table(&shape, trigonometry), &shape, None, rope.theta.log2() as f32);
        check("plain", &got, &want);
    }
}

#[test]
fn scaled_tables_are_those_of_the_host() {
    for name in ["qwen3-yarn", "llama3-rope-scaling"] {
        let checkpoint = common::fixture(name);
        let shape = Shape::new(checkpoint.config(), 600);
        let rope = &checkpoint.config().rope;
        let frequencies: Vec<f32> =
            rope.inv_freq(shape.head_dim as usize).into_iter().map(|f| f as f32).collect();
        let factor = rope.attention_factor() as f32;
        let got = run_table(table_of_frequencies(&shape), &shape, Some(&frequencies), factor);
        check(name, &got, &host::rotary(rope, &shape));
    }
}
