//! Compiled kernels and their runs.

use std::sync::{Mutex, PoisonError};

use tilewright_tile::interp::{Dispatch, Memory};
use tilewright_tile::{Kernel, Verified, emit};

use crate::raw::{self, Functions};
use crate::translate::translate;
use crate::{Compiler, Language, ShimError};

/// In which order the threads between two barriers, and the threadgroups, run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The lowest first.
    Forwards,
    /// The highest first.
    Backwards,
}

impl Order {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Forwards, Self::Backwards];
}

/// Kernels compiled from the text of one language.
pub struct Library {
    kernels: Vec<Verified<Kernel>>,
    functions: Mutex<Functions>,
}

impl Library {
    /// Prints the kernels and compiles the texts in one go.
    ///
    /// # Errors
    /// A text that the compiler refuses, or trouble with files.
    pub fn compile(
        compiler: &Compiler,
        language: Language,
        kernels: Vec<Verified<Kernel>>,
    ) -> Result<Self, ShimError> {
        let print = match language {
            Language::Msl => emit::msl,
            Language::Cuda => emit::cuda,
        };
        let texts: Vec<String> = kernels.iter().map(print).collect();
        let functions = Mutex::new(functions(compiler, language, &texts)?);
        Ok(Self { kernels, functions })
    }

    /// The kernels, in the order given.
    pub fn kernels(&self) -> &[Verified<Kernel>] {
        &self.kernels
    }

    /// Runs kernel `n`. All bytes of the buffers it writes count as written afterwards.
    ///
    /// # Errors
    /// A launch that does not fit the kernel, or threads that part at a barrier or SIMD operation.
    pub fn run(
        &self,
        n: usize,
        memory: &mut Memory,
        dispatch: &Dispatch<'_>,
        order: Order,
    ) -> Result<(), ShimError> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        let backwards = order == Order::Backwards;
        raw::run_verified(&mut functions, n, &self.kernels[n], memory, dispatch, backwards)
    }
}

/// Compiles texts of one kernel each.
pub(crate) fn functions(
    compiler: &Compiler,
    language: Language,
    texts: &[String],
) -> Result<Functions, ShimError> {
    let library = compiler.library(&translate(language, texts)?)?;
    Functions::load(&library, texts.len())
}

#[cfg(test)]
mod tests;
