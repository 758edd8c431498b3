//! Which device serves a request. Pure: it looks at the request and at what this build has.

use tilewright_backend::DeviceKind;
use tilewright_model::{Code, Refusal};

use crate::DeviceRequest;

/// The device chosen and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceChoice {
    /// The device.
    pub kind: DeviceKind,
    /// One line for people.
    pub reason: String,
}

/// Chooses the device.
///
/// # Errors
/// `device_unavailable` when the device asked for is not in this build: a request never moves to another device.
pub(crate) fn choose(request: DeviceRequest) -> Result<DeviceChoice, Refusal> {
    let cpu = |reason: &str| Ok(DeviceChoice { kind: DeviceKind::Cpu, reason: reason.to_owned() });
    match request {
        DeviceRequest::Auto => cpu("auto: the only device of this build"),
        DeviceRequest::Cpu => cpu("asked for"),
        DeviceRequest::Cuda(_) | DeviceRequest::Metal => {
            Err(Refusal::new(Code::DeviceUnavailable, "device", "a device of this build (cpu)", request))
        }
    }
}

#[cfg(test)]
mod tests;
