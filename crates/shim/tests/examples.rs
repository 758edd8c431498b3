//! The texts of small kernels and of kernels that use everything compute what the interpreter computes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

mod common;

use common::{compiler, difference, text};
use tilewright_shim::{Language, Library};
use tilewright_tile::testing::trial::Trial;
use tilewright_tile::testing::{examples, zoo};
use tilewright_tile::{Kernel, Scalar, Verified, verify};

fn kernels() -> Vec<Verified<Kernel>> {
    // One reaches beyond 2^31 elements: its text is compiled elsewhere, its memory is not to be had.
    let small = |kernel: &Kernel| kernel.buffers().iter().all(|(_, b)| b.elements < 1 << 24);
    let fragments = [Scalar::F32, Scalar::Bf16].map(zoo::fragments);
    let tiles = [Scalar::F16, Scalar::Bf16].map(zoo::tiles);
    let all = examples::all().into_iter().chain(zoo::all()).chain(fragments).chain(tiles);
    all.filter(small).map(|kernel| verify(kernel).unwrap()).collect()
}

fn compare(language: Language) {
    let Some(compiler) = compiler() else { return };
    let library = Library::compile(&compiler, language, kernels()).unwrap();
    assert!(library.kernels().len() > 10);
    for (n, kernel) in library.kernels().iter().enumerate() {
        for seed in 1..=4 {
            let trial = Trial::new(kernel, seed, &(i32::MIN..=i32::MAX));
            if let Err(difference) = difference(&library, n, &trial) {
                panic!("seed {seed}: {difference}\n{}", text(language, kernel));
            }
        }
    }
}

#[test]
fn msl_text_computes_what_the_kernel_says() {
    compare(Language::Msl);
}

#[test]
fn cuda_text_computes_what_the_kernel_says() {
    compare(Language::Cuda);
}
