//! Printed kernels are as committed.

mod common;

use common::{examples, golden};

#[test]
fn ir_text_is_as_committed() {
    for kernel in examples() {
        golden::check(&format!("ir/{}.ir", kernel.name()), &tilewright_tile::ir::print(&kernel));
    }
}
