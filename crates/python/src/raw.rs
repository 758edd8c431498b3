//! A block of floats that Python reads where it lies, by the buffer protocol.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

/// The type of an element, as the module `struct` writes it.
const FORMAT: &CStr = c"f";

/// Floats in one or two dimensions, row by row. Read-only: several views may be alive at once.
#[pyclass(frozen, module = "tilewright._native")]
pub(crate) struct Floats {
    data: Vec<f32>,
    shape: Vec<ffi::Py_ssize_t>,
    /// Bytes from one index to the next.
    strides: Vec<ffi::Py_ssize_t>,
}

impl Floats {
    /// A vector.
    pub(crate) fn vector(data: Vec<f32>) -> Self {
        let len = data.len() as ffi::Py_ssize_t;
        Self { data, shape: vec![len], strides: vec![4] }
    }

    /// A matrix with rows of `columns` elements.
    pub(crate) fn matrix(data: Vec<f32>, columns: usize) -> Self {
        let rows = data.len() / columns.max(1);
        let (rows, columns) = (rows as ffi::Py_ssize_t, columns as ffi::Py_ssize_t);
        Self { data, shape: vec![rows, columns], strides: vec![4 * columns, 4] }
    }
}

#[pymethods]
impl Floats {
    #[getter]
    fn shape(&self) -> Vec<ffi::Py_ssize_t> {
        self.shape.clone()
    }

    /// A NumPy array over these floats, which are not copied.
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("numpy")?.call_method1("asarray", (slf,))
    }

    /// Fills in a view.
    ///
    /// # Safety
    /// The interpreter calls this with a view that may be written to.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no view to fill in"));
        }
        // SAFETY: by the protocol an exporter that refuses leaves no object in the view, which may be written to.
        unsafe { (*view).obj = ptr::null_mut() };
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err("logits are read-only; copy them to write"));
        }
        let floats = slf.get();
        let asked = |flag: c_int| flags & flag == flag;
        // SAFETY: the view may be written to. Its pointers reach into `floats`, whose vectors neither move nor change while
        // the object is alive (it is frozen and they are never touched after it was made), and the view keeps it alive by
        // the reference in `obj`. Format, shape and strides are given when asked for and null otherwise. Nobody writes
        // through them: the view says that it is read-only, and shape and strides are the exporter's by the protocol.
        unsafe {
            (*view).buf = floats.data.as_ptr().cast_mut().cast::<c_void>();
            (*view).len = (floats.data.len() * 4) as ffi::Py_ssize_t;
            (*view).readonly = 1;
            (*view).itemsize = 4;
            (*view).format =
                if asked(ffi::PyBUF_FORMAT) { FORMAT.as_ptr().cast_mut() } else { ptr::null_mut() };
            (*view).ndim = floats.shape.len() as c_int;
            (*view).shape =
                if asked(ffi::PyBUF_ND) { floats.shape.as_ptr().cast_mut() } else { ptr::null_mut() };
            (*view).strides =
                if asked(ffi::PyBUF_STRIDES) { floats.strides.as_ptr().cast_mut() } else { ptr::null_mut() };
            (*view).suboffsets = ptr::null_mut();
            (*view).internal = ptr::null_mut();
            (*view).obj = slf.into_ptr();
        }
        Ok(())
    }
}
