//! What is on disk.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde_json::json;
use tilewright_engine::Cancel;
use tilewright_model::Checkpoint;
use tilewright_model::convert::{Arm, BlobType, ConvertOptions};

use crate::refusal::ok;
use crate::value::to_python;
use crate::watch::watched;

/// Writes the converted pair of a checkpoint.
#[pyfunction]
pub(crate) fn convert(
    py: Python<'_>,
    folder: PathBuf,
    out: PathBuf,
    ids: Vec<u32>,
    f32: bool,
    fixed: bool,
) -> PyResult<()> {
    let work = || {
        let options = ConvertOptions {
            rounding: None,
            dtype: if f32 { BlobType::F32 } else { BlobType::F64 },
            arm: if fixed { Arm::Fixed } else { Arm::AnyModel },
            input_ids: &ids,
            overwrite: true,
        };
        tilewright_model::convert::convert(&Checkpoint::open(&folder)?, &out, &options, &mut |_, _| ())
    };
    watched(py, &Cancel::default(), None, work)
}

/// Refuses a checkpoint of another shape than Qwen3-0.6B-Base, with every fact that differs.
#[pyfunction]
pub(crate) fn check_fixed_shape(py: Python<'_>, folder: PathBuf) -> PyResult<()> {
    ok(py, py.detach(|| Checkpoint::open(&folder)?.check_fixed_shape()))
}

/// The shape of a checkpoint and the prompt folded into it, if there is one.
#[pyfunction]
pub(crate) fn config(py: Python<'_>, folder: PathBuf) -> PyResult<Bound<'_, PyAny>> {
    let checkpoint = ok(py, py.detach(|| Checkpoint::open(&folder)))?;
    let found = json!({"config": checkpoint.config(), "prompt_ids": checkpoint.prompt_ids()});
    to_python(py, &found)
}

/// Everything about a checkpoint but its weights, refusals included.
#[pyfunction]
pub(crate) fn inspect(py: Python<'_>, folder: PathBuf) -> PyResult<Bound<'_, PyAny>> {
    let found = py.detach(|| tilewright_model::inspect(&folder));
    to_python(py, &json!(found))
}
