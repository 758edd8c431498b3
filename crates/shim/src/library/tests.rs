//! The comparison with the interpreter notices texts that are wrong.

use std::sync::Mutex;

use tilewright_tile::testing::examples::{gemm, gemv, rms_norm};
use tilewright_tile::testing::trial::Trial;
use tilewright_tile::{Kernel, Scalar, emit, verify};

use super::{Library, Order, functions};
use crate::{Compiler, Language};

/// Whether the text of `kernel` with line `n` replaced computes something else, in one order of threads at least.
fn is_noticed(compiler: &Compiler, kernel: &Kernel, text: &str) -> bool {
    let kernels = vec![verify(kernel.clone()).unwrap()];
    let functions = Mutex::new(functions(compiler, Language::Msl, &[text.to_owned()]).unwrap());
    let library = Library { kernels, functions };
    let trial = Trial::new(kernel, 1, &(0..=0));
    let (expected, _) = trial.run(kernel).unwrap();
    Order::ALL.into_iter().any(|order| {
        let (mut memory, dispatch) = trial.dispatch(kernel);
        let ran = library.run(0, &mut memory, &dispatch, order);
        ran.is_err() || trial.difference(&expected, &memory).is_some()
    })
}

#[test]
fn a_text_without_one_of_its_barriers_computes_something_else() {
    let Ok(compiler) = Compiler::find(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/shim")) else {
        eprintln!("skipped: no C++ compiler");
        return;
    };
    for kernel in [gemm(40, 64, 48), rms_norm(4, 1024, 1e-6)] {
        let text = emit::msl(&verify(kernel.clone()).unwrap());
        assert!(!is_noticed(&compiler, &kernel, &text), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        let barriers: Vec<usize> =
            (0..lines.len()).filter(|&n| lines[n].contains("threadgroup_barrier")).collect();
        assert!(!barriers.is_empty());
        for n in barriers {
            let without: String =
                (0..lines.len()).filter(|&m| m != n).map(|m| format!("{}\n", lines[m])).collect();
            assert!(is_noticed(&compiler, &kernel, &without), "nobody misses line {n} of {}", kernel.name());
        }
    }
}

#[test]
fn a_text_that_contracts_a_product_and_a_sum_is_noticed() {
    let Ok(compiler) = Compiler::find(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/shim")) else {
        eprintln!("skipped: no C++ compiler");
        return;
    };
    let kernel = gemv(37, 256, Scalar::F32);
    let text = emit::msl(&verify(kernel.clone()).unwrap());
    let line = text.lines().find(|line| line.contains("fma(")).unwrap();
    let [name, a, b, c] = [0, 1, 2, 3].map(|n| {
        line.split(['=', '(', ',', ')', ';']).map(str::trim).filter(|p| *p != "fma").nth(n).unwrap()
    });
    let apart = format!("{name} = {a} * {b} + {c};");
    assert!(is_noticed(&compiler, &kernel, &text.replace(line, &apart)), "{apart}");
}
