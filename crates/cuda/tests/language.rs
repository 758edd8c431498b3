//! Every kernel of the catalogue on the GPU: what its CUDA text leaves is what the interpreter leaves.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test"
)]

mod common;

use common::present;
use tilewright_cuda::{Outcome, Suite};
use tilewright_kernels::Shape;

#[test]
fn every_kernel_leaves_what_the_interpreter_leaves() {
    if !present() {
        return;
    }
    let suite = Suite::open(0).unwrap();
    let (mut complaints, mut count, mut tables) = (Vec::new(), 0, 0);
    for shape in [Shape::QWEN3_TINY, Shape::QWEN2_TINY, Shape::LLAMA_TINY] {
        suite.each(&shape, "", &mut |name, outcome| {
            count += 1;
            if let ("rotary_table_fast", Outcome::Near(first)) = (name, &outcome) {
                tables += 1;
                eprintln!("{name}: {first}");
            }
            if !outcome.is_ok() {
                complaints.push(format!("{name}: {outcome:?}"));
            }
        });
    }
    // Heads that a cache of fragments takes.
    suite.each(&Shape { layers: 2, vocab: 512, ..Shape::STORIES }, "overlap", &mut |name, outcome| {
        count += 1;
        if !outcome.is_ok() {
            complaints.push(format!("{name}: {outcome:?}"));
        }
    });
    eprintln!("{count} kernels compared, {tables} fast tables of angles near");
    assert!(complaints.is_empty(), "{complaints:#?}");
}
