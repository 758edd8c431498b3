//! The parts of the driver that cudarc leaves unsafe.

use cudarc::driver::sys;

/// Whether the driver's library can be loaded. Nothing else of the driver may be called before: it would not be found.
pub(crate) fn present() -> bool {
    // SAFETY: loads a library whose initialisers have no requirement on the caller.
    unsafe { sys::is_culib_present() }
}

/// The newest CUDA that the driver serves, major and minor. The library must be present.
pub(crate) fn version() -> Option<(u32, u32)> {
    let mut version = 0;
    // SAFETY: the pointer is to a live integer; the call needs no initialised driver.
    let status = unsafe { sys::cuDriverGetVersion(&raw mut version) };
    (status == sys::CUresult::CUDA_SUCCESS && version > 0)
        .then(|| ((version / 1000).unsigned_abs(), (version % 1000 / 10).unsigned_abs()))
}
