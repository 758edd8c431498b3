//! Printed kernels are as committed.

mod common;

use common::{examples, golden};

#[test]
fn ir_text_is_as_committed() {
    for kernel in examples() {
        golden::check(&format!("ir/{}.ir", kernel.name()), &tilewright_tile::ir::print(&kernel));
    }
}

#[test]
fn msl_and_cuda_text_are_as_committed() {
    for kernel in examples() {
        let kernel = tilewright_tile::verify(kernel).unwrap();
        golden::check(&format!("msl/{}.metal", kernel.name()), &tilewright_tile::emit::msl(&kernel));
        golden::check(&format!("cuda/{}.cu", kernel.name()), &tilewright_tile::emit::cuda(&kernel));
    }
}
