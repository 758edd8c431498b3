//! Library functions by module and name.

use pyo3::prelude::*;
use serde_json::{Value, json};
use tilewright_engine::{Cache, Cancel, Code, DeviceRequest, Refusal};
use tilewright_library::{Access, Checkpoints, Library, Module};

use crate::value::{from_python, to_python};
use crate::watch::{limit, watched};

/// Calls a function. `device` is that of the decode functions.
#[pyfunction]
pub(crate) fn execute<'py>(
    py: Python<'py>,
    module: &str,
    function: &str,
    args: &Bound<'py, PyAny>,
    device: &str,
    seconds: Option<f64>,
) -> PyResult<Bound<'py, PyAny>> {
    let args = from_python(args)?;
    let work = || {
        let unknown = |error| Refusal::new(Code::DeviceOptionInvalid, "device", "a device's name", error);
        let device: DeviceRequest = device.parse().map_err(unknown)?;
        let access = Access { checkpoints: Checkpoints::Any, device, cache: Cache::User };
        Library::new(access).execute(module, function, Some(&args))
    };
    let result = watched(py, &Cancel::default(), limit(seconds), work)?;
    to_python(py, &result)
}

/// The modules with their functions.
#[pyfunction]
pub(crate) fn modules(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let list: Vec<Value> = tilewright_library::modules().iter().map(Module::json).collect();
    to_python(py, &json!(list))
}
