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

impl DeviceRequest {
    /// Chooses the device.
    ///
    /// # Errors
    /// `device_unavailable` when the device asked for is not in this build: a request never moves to another device.
    pub fn choose(self) -> Result<DeviceChoice, Refusal> {
        let cpu = |reason: &str| Ok(DeviceChoice { kind: DeviceKind::Cpu, reason: reason.to_owned() });
        match self {
            Self::Auto => cpu("auto: the only device of this build"),
            Self::Cpu => cpu("asked for"),
            Self::Cuda(_) | Self::Metal => {
                Err(Refusal::new(Code::DeviceUnavailable, "device", "a device of this build (cpu)", self))
            }
        }
    }
}

#[cfg(test)]
mod tests;
