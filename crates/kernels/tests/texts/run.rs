//! The texts, compiled and run on fibers, leave the bits that the interpreter leaves.

use tilewright_kernels::Shape;
use tilewright_shim::{Compiler, Language, Library, Order};
use tilewright_tile::emit;

/// Kernels compiled together.
const BATCH: usize = 24;

fn compare(language: Language, shape: &Shape, seeds: u32) {
    let compiler = match Compiler::find(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/shim")) {
        Ok(compiler) => compiler,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    for kernels in super::kernels(shape).chunks(BATCH) {
        let library =
            Library::compile(&compiler, language, kernels.to_vec()).unwrap_or_else(|e| panic!("{e}"));
        for (n, kernel) in kernels.iter().enumerate() {
            for (seed, order) in (1..=seeds).zip(Order::ALL.into_iter().cycle()) {
                let trial = super::trial(kernel, seed);
                let (expected, _) = trial.run(kernel).unwrap_or_else(|fault| panic!("{fault}"));
                let (mut memory, dispatch) = trial.dispatch(kernel);
                library.run(n, &mut memory, &dispatch, order).unwrap_or_else(|error| panic!("{error}"));
                if let Some(difference) = trial.difference(&expected, &memory) {
                    panic!("{}, seed {seed}: {difference}\n{}", kernel.name(), emit::msl(kernel));
                }
            }
        }
    }
}

#[test]
fn msl_text_leaves_the_interpreters_bits() {
    compare(Language::Msl, &Shape::QWEN3_TINY, 2);
}

#[test]
fn cuda_text_leaves_the_interpreters_bits() {
    compare(Language::Cuda, &Shape::QWEN3_TINY, 2);
}

#[test]
#[ignore = "minutes: other shapes, more noise"]
fn texts_leave_the_interpreters_bits_at_other_shapes() {
    for language in Language::ALL {
        for shape in [Shape::QWEN2_TINY, Shape::LLAMA_TINY] {
            compare(language, &shape, 3);
        }
    }
}
