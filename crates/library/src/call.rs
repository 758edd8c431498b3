//! Calls: who may touch what, and the function that is found.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tilewright_engine::{Cache, DeviceRequest};
use tilewright_model::{Code, Refusal};

use crate::arguments::invalid;
use crate::{Arguments, Function, modules};

/// What answers.
pub const ENGINE: &str = "native";

/// Which checkpoints calls may open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Checkpoints {
    /// None.
    #[default]
    None,
    /// Those in this folder and below.
    Below(PathBuf),
    /// Any that the process may read.
    Any,
}

/// What calls may touch.
#[derive(Clone, Debug)]
pub struct Access {
    /// The checkpoints.
    pub checkpoints: Checkpoints,
    /// The device of the decode functions: metal, or shim.
    pub device: DeviceRequest,
    /// Where the shim keeps compiled texts.
    pub cache: Cache,
}

impl Default for Access {
    fn default() -> Self {
        Self { checkpoints: Checkpoints::None, device: DeviceRequest::Metal, cache: Cache::User }
    }
}

impl Access {
    /// The folder of a checkpoint, if it may be opened. One that is not there is left to be refused by who opens it.
    ///
    /// # Errors
    /// `invalid_arguments`.
    pub(crate) fn checkpoint(&self, folder: &str) -> Result<PathBuf, Refusal> {
        let root = match &self.checkpoints {
            Checkpoints::Any => return Ok(PathBuf::from(folder)),
            Checkpoints::None => {
                let expected = "a caller that may open checkpoints; a server may with --library-checkpoints";
                return Err(invalid("checkpoint_dir", expected, folder));
            }
            Checkpoints::Below(root) => root,
        };
        // Links are followed before places are compared.
        let real = |path: &Path| path.canonicalize().ok();
        match (real(root), real(&root.join(folder))) {
            (Some(root), Some(path)) if path.starts_with(&root) => Ok(path),
            _ => Err(invalid("checkpoint_dir", "a folder below the one of --library-checkpoints", folder)),
        }
    }
}

/// The functions, for a caller that may touch so much.
#[derive(Clone, Debug, Default)]
pub struct Library(Access);

impl Library {
    /// The functions for `access`.
    pub fn new(access: Access) -> Self {
        Self(access)
    }

    /// Calls a function. `args` is a list, an object by parameters' names, or the only argument by itself.
    ///
    /// # Errors
    /// `module_not_registered`, `function_not_registered`; `invalid_arguments`, also where they lead to a number that is not
    /// finite, which JSON cannot say.
    pub fn execute(&self, module: &str, function: &str, args: Option<&Value>) -> Result<Value, Refusal> {
        let function = find(module, function)?;
        let result = (function.run)(&Arguments::read(function, args)?, &self.0)?;
        if !function.returns.fits(&result) {
            return Err(invalid(
                "result",
                format!("{} of finite numbers", function.returns),
                "one that is not finite",
            ));
        }
        Ok(result)
    }
}

/// A function by its names.
fn find(module: &str, function: &str) -> Result<&'static Function, Refusal> {
    let missing = |code, what, expected: String, got: &str| Refusal::new(code, what, expected, got);
    let found = modules().iter().find(|one| one.name == module).ok_or_else(|| {
        let names: Vec<&str> = modules().iter().map(|one| one.name).collect();
        missing(Code::ModuleNotRegistered, "module", names.join(", "), module)
    })?;
    found.functions.iter().find(|one| one.name == function).ok_or_else(|| {
        let names: Vec<&str> = found.functions.iter().map(|one| one.name).collect();
        missing(Code::FunctionNotRegistered, "function", names.join(", "), function)
    })
}
