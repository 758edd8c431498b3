//! What must not be refused.

use tilewright_tile::testing::examples;
use tilewright_tile::{Scalar, verify};

use super::accepted;

#[test]
fn the_example_kernels_are_accepted() {
    examples::all().into_iter().for_each(accepted);
}

#[test]
fn proven_accesses_carry_no_guard() {
    let kernel = verify(examples::gemv(40, 256, Scalar::F32)).unwrap();
    kernel.walk(|op, _| assert!(kernel.facts().is_proven(op)));
    let kernel = verify(examples::gemv(37, 256, Scalar::F32)).unwrap();
    let mut guarded = 0;
    kernel.walk(|op, _| guarded += usize::from(!kernel.facts().is_proven(op)));
    assert_eq!(guarded, 2, "the weights and the result of the last threadgroup");
}
