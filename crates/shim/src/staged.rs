//! A pipeline run by the texts of its kernels.

use std::collections::BTreeMap;
use std::sync::Arc;

use tilewright_tile::interp::Memory;
use tilewright_tile::pipeline::Runner;
use tilewright_tile::{Literal, Pipeline, Verified};

use crate::{Compiler, Language, Library, Order, ShimError};

/// The kernels of a pipeline, compiled.
pub struct Staged {
    library: Library,
    /// Number in the library by the address of the kernel, which the pipeline keeps alive.
    numbers: BTreeMap<usize, usize>,
    _pipeline: Arc<Verified<Pipeline>>,
}

impl Staged {
    /// Compiles each kernel of the pipeline once.
    ///
    /// # Errors
    /// Those of [`Library::compile`].
    pub fn compile(
        compiler: &Compiler,
        language: Language,
        pipeline: &Arc<Verified<Pipeline>>,
    ) -> Result<Self, ShimError> {
        let (mut numbers, mut kernels) = (BTreeMap::new(), Vec::new());
        for stage in pipeline.stages() {
            numbers.entry(Arc::as_ptr(&stage.kernel) as usize).or_insert_with(|| {
                kernels.push(Verified::clone(&stage.kernel));
                kernels.len() - 1
            });
        }
        let library = Library::compile(compiler, language, kernels)?;
        Ok(Self { library, numbers, _pipeline: Arc::clone(pipeline) })
    }

    /// Runs every stage once. `runner` is of the same pipeline.
    ///
    /// # Errors
    /// Those of [`Library::run`], and another pipeline's runner.
    pub fn run(
        &self,
        runner: &Runner,
        memory: &mut Memory,
        arguments: &[(&str, Literal)],
        order: Order,
    ) -> Result<(), ShimError> {
        runner.run_by(memory, arguments, |kernel, memory, dispatch| {
            let number = self.numbers.get(&(Arc::as_ptr(kernel) as usize));
            let other = || ShimError::Launch {
                kernel: kernel.name().to_owned(),
                reasons: "it is no kernel of this pipeline".to_owned(),
            };
            self.library.run(*number.ok_or_else(other)?, memory, dispatch, order)
        })
    }
}
