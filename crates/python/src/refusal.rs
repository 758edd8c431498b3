//! Refusals as exceptions of the Python half.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use tilewright_model::{Finding, Refusal};

/// `tilewright.Refusal` with everything the refusal says.
pub(crate) fn raise(py: Python<'_>, refusal: &Refusal) -> PyErr {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let error = || -> PyResult<PyErr> {
        let class = CLASS.import(py, "tilewright._refusal", "Refusal")?;
        let field = |f: &Finding| (f.what.clone(), f.expected.clone(), f.got.clone());
        let fields: Vec<_> = refusal.findings().iter().map(field).collect();
        let code = refusal.code();
        let arguments =
            (code.number(), code.name(), fields, refusal.place(), refusal.remedy(), refusal.to_string());
        Ok(PyErr::from_value(class.call1(arguments)?))
    };
    error().unwrap_or_else(|error| error)
}

/// The value, or the refusal as an exception.
pub(crate) fn ok<T>(py: Python<'_>, result: Result<T, Refusal>) -> PyResult<T> {
    result.map_err(|refusal| raise(py, &refusal))
}
