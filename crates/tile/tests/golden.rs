//! Printed kernels are as committed.

mod common;

use common::golden;
use tilewright_tile::testing::{examples, zoo};
use tilewright_tile::{Kernel, Report, emit, verify};

fn kernels() -> Vec<Kernel> {
    examples::all().into_iter().chain(zoo::all()).collect()
}

#[test]
fn ir_text_is_as_committed() {
    for kernel in kernels() {
        golden::check(&format!("ir/{}.ir", kernel.name()), &tilewright_tile::ir::print(&kernel));
    }
}

#[test]
fn msl_and_cuda_text_and_reports_are_as_committed() {
    for kernel in kernels() {
        let kernel = verify(kernel).unwrap_or_else(|rejection| panic!("{rejection}"));
        golden::check(&format!("msl/{}.metal", kernel.name()), &emit::msl(&kernel));
        golden::check(&format!("cuda/{}.cu", kernel.name()), &emit::cuda(&kernel));
        golden::check(&format!("report/{}.txt", kernel.name()), &Report::new(&kernel).to_string());
    }
}
