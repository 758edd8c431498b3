//! What is printed of every kernel of the catalogue: as committed, legal, and computing what the kernel says.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test"
)]

#[path = "../common/mod.rs"]
mod common;
mod cubin;
mod golden;
mod legal;
mod model;
mod run;
mod table;

use sha2::{Digest, Sha256};
use tilewright_kernels::{Shape, catalogue};
use tilewright_tile::testing::trial::Trial;
use tilewright_tile::{Kernel, Verified, verify};

/// Every kernel that can be built for a shape, verified.
fn kernels(shape: &Shape) -> Vec<Verified<Kernel>> {
    let all = catalogue::entries().flat_map(|entry| entry.kernels(shape));
    all.map(|(name, kernel)| verify(kernel).unwrap_or_else(|e| panic!("{name}: {e}"))).collect()
}

/// What a text is known by in committed tables.
fn digest(text: &str) -> String {
    Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Noise to run a kernel on; tokens, positions and counts of rows are small numbers.
fn trial(kernel: &Kernel, seed: u32) -> Trial {
    Trial::new(kernel, seed, &(0..=3))
}
