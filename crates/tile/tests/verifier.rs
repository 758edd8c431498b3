//! The verifier accepts what is right and refuses what is not.

mod common;

use tilewright_tile::verify;

#[test]
fn the_example_kernels_are_accepted() {
    for kernel in common::examples() {
        if let Err(rejection) = verify(kernel) {
            panic!("{rejection}");
        }
    }
}
