//! JSON values and Python objects.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyNone, PySequence, PyString};
use serde_json::{Map, Number, Value};

/// Lists within lists, at most.
const DEPTH: usize = 100;

/// A Python object as JSON: what `json.dumps` takes.
///
/// # Errors
/// `TypeError` for an object that is no JSON, `ValueError` for numbers JSON cannot say and for nesting without end.
pub(crate) fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    read(object, DEPTH)
}

fn read(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth == 0 {
        return Err(PyValueError::new_err("lists and dicts are nested too deeply"));
    }
    if object.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(flag) = object.cast::<PyBool>() {
        return Ok(flag.is_true().into());
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(text.to_str()?.into());
    }
    if object.is_instance_of::<PyInt>() {
        let number = object
            .extract::<i64>()
            .map(Number::from)
            .or_else(|_| object.extract::<u64>().map(Number::from))?;
        return Ok(number.into());
    }
    if object.is_instance_of::<PyFloat>() {
        let value: f64 = object.extract()?;
        let number = Number::from_f64(value);
        return number
            .map(Value::from)
            .ok_or_else(|| PyValueError::new_err(format!("{value} is no number of JSON")));
    }
    if let Ok(mapping) = object.cast::<PyMapping>() {
        let mut map = Map::new();
        for pair in mapping.items()? {
            let (key, value): (String, Bound<'_, PyAny>) = pair.extract()?;
            map.insert(key, read(&value, depth - 1)?);
        }
        return Ok(map.into());
    }
    if let Ok(items) = object.cast::<PySequence>() {
        let items = items.to_list()?;
        return items
            .iter()
            .map(|item| read(&item, depth - 1))
            .collect::<PyResult<Vec<_>>>()
            .map(Value::Array);
    }
    Err(PyTypeError::new_err(format!("an object of type {} is no JSON", object.get_type().name()?)))
}

/// JSON as Python objects.
///
/// # Errors
/// That of the interpreter when it has no memory.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => PyNone::get(py).to_owned().into_any(),
        Value::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(whole), _) => whole.into_pyobject(py)?.into_any(),
            (None, Some(whole)) => whole.into_pyobject(py)?.into_any(),
            (None, None) => PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any(),
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            items.iter().try_for_each(|item| list.append(to_python(py, item)?))?;
            list.into_any()
        }
        Value::Object(map) => {
            let dict = PyDict::new(py);
            map.iter().try_for_each(|(key, value)| dict.set_item(key, to_python(py, value)?))?;
            dict.into_any()
        }
    })
}
