//! Interpreter and compiled text side by side.
#![allow(dead_code, unreachable_pub, reason = "each test file uses some of it")]
#![allow(clippy::print_stderr, reason = "helpers of tests")]

use tilewright_shim::{Compiler, Language, Library, Order, ShimError};
use tilewright_tile::ir::print;
use tilewright_tile::testing::trial::Trial;
use tilewright_tile::{Kernel, Verified, emit};

/// The compiler; says so where there is none.
pub fn compiler() -> Option<Compiler> {
    let cache = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/shim");
    Compiler::find(cache).map_err(|error| eprintln!("skipped: {error}")).ok()
}

/// How kernel `n` of a library differs from the interpreter, whichever way its threads are ordered.
pub fn difference(library: &Library, n: usize, trial: &Trial) -> Result<(), String> {
    let kernel = &library.kernels()[n];
    let (expected, _) = trial.run(kernel).map_err(|fault| format!("interpreter: {fault}"))?;
    for order in Order::ALL {
        let (mut memory, dispatch) = trial.dispatch(kernel);
        let ran: Result<(), ShimError> = library.run(n, &mut memory, &dispatch, order);
        ran.map_err(|error| error.to_string())?;
        if let Some(difference) = trial.difference(&expected, &memory) {
            return Err(format!("{}, {order:?}: {difference}", kernel.name()));
        }
    }
    Ok(())
}

/// The text of a kernel, for messages.
pub fn text(language: Language, kernel: &Verified<Kernel>) -> String {
    let text = match language {
        Language::Msl => emit::msl(kernel),
        Language::Cuda => emit::cuda(kernel),
    };
    format!("{}\n{text}", print(kernel))
}
