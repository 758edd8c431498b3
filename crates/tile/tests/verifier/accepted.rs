//! What must not be refused.

use tilewright_tile::verify;

use super::{accepted, common};

#[test]
fn the_example_kernels_are_accepted() {
    common::examples().into_iter().for_each(accepted);
}

#[test]
fn proven_accesses_carry_no_guard() {
    let kernel = verify(common::gemv(40, 256, tilewright_tile::Scalar::F32)).unwrap();
    kernel.walk(|op, _| assert!(kernel.facts().is_proven(op)));
    let kernel = verify(common::gemv(37, 256, tilewright_tile::Scalar::F32)).unwrap();
    let mut guarded = 0;
    kernel.walk(|op, _| guarded += usize::from(!kernel.facts().is_proven(op)));
    assert_eq!(guarded, 2, "the weights and the result of the last threadgroup");
}
