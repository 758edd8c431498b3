//! The native half of the Python package `tilewright`: an engine, its replies, a tokenizer, the formats on disk.
//!
//! What people call is written in Python (`crates/python/python/tilewright`); here is only what needs the engine. Work
//! is done with the interpreter unlocked and in a thread of its own, while the caller's looks after signals
//! (`watch`): Ctrl-C ends a prompt within a step. Nothing is printed. A refusal becomes `tilewright.Refusal`.

mod checkpoint;
mod engine;
mod fields;
mod library;
mod raw;
mod refusal;
mod reply;
mod report;
mod template;
mod tokenizer;
mod value;
mod watch;

use pyo3::pymodule;

#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::checkpoint::{check_fixed_shape, config, convert, inspect};
    #[pymodule_export]
    use crate::engine::{Engine, choose_device};
    #[pymodule_export]
    use crate::library::{execute, modules};
    #[pymodule_export]
    use crate::raw::Floats;
    #[pymodule_export]
    use crate::reply::Reply;
    #[pymodule_export]
    use crate::template::{apply_template, split_calls};
    #[pymodule_export]
    use crate::tokenizer::Tokenizer;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("VERSION", env!("CARGO_PKG_VERSION"))
    }
}
