//! Random kernels: the interpreter, the MSL text and the CUDA text agree.
//!
//! A disagreement is a mistake of one of the three. The kernel is made simpler while they still disagree, and printed.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failure here is a failed test"
)]

mod common;

use common::{compiler, difference, text};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use tilewright_shim::{Compiler, Language, Library};
use tilewright_tile::testing::arbitrary::{Sample, recipes, sample};
use tilewright_tile::testing::trial::Trial;
use tilewright_tile::{Scalar, verify};

/// Kernels compiled together.
const BATCH: usize = 32;

fn trial(sample: &Sample) -> Trial {
    let mut trial = Trial::new(&sample.kernel, 1, &(0..=sample.n));
    let bytes = |floats: &[f32], scalar: Scalar| {
        let mut memory = tilewright_tile::interp::Memory::new();
        let id = memory.floats(floats, scalar);
        memory.data(id).to_vec()
    };
    trial.give(&sample.kernel, "floats", bytes(&sample.floats, Scalar::F32));
    trial.give(&sample.kernel, "narrow", bytes(&sample.narrow, sample.narrow_type));
    trial.give(&sample.kernel, "ints", sample.ints.iter().flat_map(|v| v.to_le_bytes()).collect());
    trial
}

/// The first of the kernels whose text disagrees, and how.
fn disagreement(compiler: &Compiler, language: Language, recipes: &[Vec<u8>]) -> Option<(usize, String)> {
    let samples: Vec<Sample> = recipes.iter().map(|recipe| sample(recipe)).collect();
    let kernels = samples.iter().map(|s| verify(s.kernel.clone()).unwrap()).collect();
    let library = match Library::compile(compiler, language, kernels) {
        Ok(library) => library,
        Err(error) if recipes.len() == 1 => return Some((0, error.to_string())),
        Err(_) => {
            let alone = |(n, recipe): (usize, &Vec<u8>)| {
                disagreement(compiler, language, std::slice::from_ref(recipe)).map(|(_, why)| (n, why))
            };
            return recipes.iter().enumerate().find_map(alone);
        }
    };
    samples.iter().enumerate().find_map(|(n, s)| Some((n, difference(&library, n, &trial(s)).err()?)))
}

fn compare(compiler: &Compiler, runner: &mut TestRunner, batches: usize) {
    let strategy = recipes();
    for _ in 0..batches {
        let mut trees: Vec<_> = (0..BATCH).map(|_| strategy.new_tree(runner).unwrap()).collect();
        let recipes: Vec<Vec<u8>> = trees.iter().map(ValueTree::current).collect();
        for language in Language::ALL {
            let Some((n, mut why)) = disagreement(compiler, language, &recipes) else { continue };
            let tree = &mut trees[n];
            let mut simplest = tree.current();
            while tree.simplify() {
                loop {
                    if let Some((_, w)) = disagreement(compiler, language, &[tree.current()]) {
                        (simplest, why) = (tree.current(), w);
                        break;
                    }
                    if !tree.complicate() {
                        break;
                    }
                }
            }
            let kernel = verify(sample(&simplest).kernel).unwrap();
            panic!("{language:?}: {why}\nrecipe {simplest:?}\n{}", text(language, &kernel));
        }
    }
}

#[test]
fn random_kernels_mean_the_same_in_every_language() {
    let Some(compiler) = compiler() else { return };
    // Always the same kernels, so that their compiled texts are found again.
    compare(&compiler, &mut TestRunner::deterministic(), 4);
}

#[test]
#[ignore = "ten minutes: thousands of random kernels, others every time"]
fn thousands_of_random_kernels_mean_the_same_in_every_language() {
    let folder = tempfile::tempdir().unwrap();
    let Ok(compiler) = Compiler::find(folder.path()).map_err(|error| eprintln!("skipped: {error}")) else {
        return;
    };
    compare(&compiler, &mut TestRunner::default(), 64);
}
