//! Opening a checkpoint on the Apple GPU, or on the shim.

use std::path::Path;

use tilewright_backend::{DeviceKind, Resident, Watch};
use tilewright_model::{Checkpoint, Code, Refusal};

use crate::{Device, Facts, MetalOptions, Session, ShimDevice};

/// Which of the two devices, and what it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// The Apple GPU.
    Apple,
    /// The shim, with the folder where it keeps compiled texts; `None` where no folder is known.
    Shim(Option<&'a Path>),
}

/// What is found of a device.
///
/// # Errors
/// `metaldispatch_shader_toolchain_absent` where this build or machine cannot compile for it; `metaldispatch_no_device`.
pub fn find(target: Target<'_>) -> Result<Facts, Refusal> {
    match target {
        Target::Apple => apple::facts(),
        Target::Shim(folder) => Ok(shim(folder)?.facts().clone()),
    }
}

/// Makes `checkpoint` resident.
///
/// # Errors
/// Those of [`find`] and [`Session::open`].
pub fn open(
    target: Target<'_>,
    checkpoint: &Checkpoint,
    options: &MetalOptions,
    progress: &mut Watch<'_>,
) -> Result<Box<dyn Resident>, Refusal> {
    match target {
        Target::Apple => apple::open(checkpoint, options, progress),
        Target::Shim(folder) => Ok(Box::new(Session::open(shim(folder)?, checkpoint, options, progress)?)),
    }
}

pub(crate) fn shim(folder: Option<&Path>) -> Result<ShimDevice, Refusal> {
    let expected = "a folder for compiled texts; --cache DIR names one";
    let refusal =
        || Refusal::new(Code::ShaderToolchainAbsent, "the shim's compiler", expected, "none is known");
    ShimDevice::new(folder.ok_or_else(refusal)?)
}

/// The device of a target.
pub const fn kind(target: Target<'_>) -> DeviceKind {
    match target {
        Target::Apple => DeviceKind::Metal,
        Target::Shim(_) => DeviceKind::Shim,
    }
}

#[cfg(any(target_os = "macos", metal_typecheck))]
mod apple {
    use super::{Checkpoint, Device, Facts, MetalOptions, Refusal, Resident, Session, Watch};
    use crate::AppleDevice;

    pub(super) fn facts() -> Result<Facts, Refusal> {
        Ok(AppleDevice::new()?.facts().clone())
    }

    pub(super) fn open(
        checkpoint: &Checkpoint,
        options: &MetalOptions,
        progress: &mut Watch<'_>,
    ) -> Result<Box<dyn Resident>, Refusal> {
        Ok(Box::new(Session::open(AppleDevice::new()?, checkpoint, options, progress)?))
    }
}

#[cfg(not(any(target_os = "macos", metal_typecheck)))]
pub(crate) use apple::absent;

#[cfg(not(any(target_os = "macos", metal_typecheck)))]
mod apple {
    use super::{Checkpoint, Code, Facts, MetalOptions, Refusal, Resident, Watch};

    pub(crate) fn absent() -> Refusal {
        Refusal::new(Code::ShaderToolchainAbsent, "device metal", "a build for macOS", std::env::consts::OS)
    }

    pub(super) fn facts() -> Result<Facts, Refusal> {
        Err(absent())
    }

    pub(super) fn open(
        _: &Checkpoint,
        _: &MetalOptions,
        _: &mut Watch<'_>,
    ) -> Result<Box<dyn Resident>, Refusal> {
        Err(absent())
    }
}
