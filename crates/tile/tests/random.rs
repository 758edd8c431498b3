//! Random kernels: accepted, printed, and run.

mod common;

use proptest::prelude::*;
use tilewright_tile::interp::{Bound, Memory};
use tilewright_tile::testing::arbitrary::{recipes, sample};
use tilewright_tile::{Literal, emit, verify};

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_random_kernel_is_accepted_printed_and_runs(recipe in recipes()) {
        let sample = sample(&recipe);
        let text = tilewright_tile::ir::print(&sample.kernel);
        let kernel = verify(sample.kernel.clone()).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert!(emit::msl(&kernel).contains("kernel void sample("));
        prop_assert!(emit::cuda(&kernel).contains("__global__"));
        let mut memory = Memory::new();
        let ids = [
            memory.f32(&sample.floats),
            memory.floats(&sample.narrow, sample.narrow_type),
            memory.i32(&sample.ints),
            memory.poison(sample.outputs * 4),
            memory.poison(sample.outputs * 4),
        ];
        let buffer = |n: usize| Bound::Buffer(memory.whole(ids[n]));
        let bound: Vec<Bound> = kernel
            .params()
            .iter()
            .map(|&p| match kernel.param_name(p) {
                "narrow" => buffer(1),
                "floats" => buffer(0),
                "ints" => buffer(2),
                "out_floats" => buffer(3),
                "out_ints" => buffer(4),
                _ => Bound::Scalar(Literal::I32(sample.n)),
            })
            .collect();
        common::run_all(&kernel, &mut memory, &bound)
            .map_err(|fault| TestCaseError::fail(format!("{fault}\n{text}")))?;
        prop_assert!(memory.read_i32(ids[4]).iter().all(Option::is_some));
    }
}
