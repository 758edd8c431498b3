//! Random kernels: accepted, printed, and run.

mod common;

use proptest::prelude::*;
use tilewright_tile::interp::{Bound, Memory};
use tilewright_tile::ir::print;
use tilewright_tile::testing::arbitrary::{Sample, recipes, sample};
use tilewright_tile::testing::mutate::{safeguards, without};
use tilewright_tile::{Kernel, Literal, Scalar, emit, verify};

/// Runs a kernel on the data of a sample; the outputs.
fn run(kernel: &Kernel, sample: &Sample) -> Result<(Vec<f32>, Vec<Option<i32>>), String> {
    let mut memory = Memory::new();
    let ids = [
        memory.f32(&sample.floats),
        memory.floats(&sample.narrow, sample.narrow_type),
        memory.i32(&sample.ints),
        memory.poison(sample.outputs * 4),
        memory.poison(sample.outputs * 4),
    ];
    let buffer = |n: usize| Bound::Buffer(memory.whole(ids[n]));
    let bind = |&param| match kernel.param_name(param) {
        "floats" => buffer(0),
        "narrow" => buffer(1),
        "ints" => buffer(2),
        "out_floats" => buffer(3),
        "out_ints" => buffer(4),
        _ => Bound::Scalar(Literal::I32(sample.n)),
    };
    let bound: Vec<Bound> = kernel.params().iter().map(bind).collect();
    common::run_all(kernel, &mut memory, &bound).map_err(|fault| fault.to_string())?;
    Ok((memory.read_f32(ids[3], Scalar::F32), memory.read_i32(ids[4])))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_random_kernel_is_accepted_printed_and_runs(recipe in recipes()) {
        let sample = sample(&recipe);
        let text = print(&sample.kernel);
        let kernel = verify(sample.kernel.clone()).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert!(emit::msl(&kernel).contains("kernel void sample("));
        prop_assert!(emit::cuda(&kernel).contains("__global__"));
        let (_, ints) = run(&kernel, &sample).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert!(ints.iter().all(Option::is_some));
    }

    #[test]
    fn what_the_verifier_accepts_does_not_fault(recipe in recipes(), nth in 0usize..1000) {
        let sample = sample(&recipe);
        let safeguards = safeguards(&sample.kernel);
        let mutant = without(&sample.kernel, safeguards[nth % safeguards.len()]);
        if let Ok(kernel) = verify(mutant.kernel.clone()) {
            let text = print(&kernel);
            let why = |e| TestCaseError::fail(format!("without {}: {e}\n{text}", mutant.removed));
            run(&kernel, &sample).map_err(why)?;
        }
    }
}
