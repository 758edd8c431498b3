//! Which device serves a request, from the request and from what this build and machine have.

use tilewright_backend::{DeviceKind, KvFormat, Numerics};
use tilewright_model::{Refusal, WeightFormat};

use crate::{DeviceRequest, OpenOptions, gpu, staged};

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
    /// As [`OpenOptions::choose_device`].
    pub fn choose(self) -> Result<DeviceChoice, Refusal> {
        OpenOptions { device: self, ..OpenOptions::default() }.choose_device()
    }
}

impl OpenOptions {
    /// Chooses the device: the one asked for, or with `auto` NVIDIA GPU 0, else the processor, where an option not
    /// every GPU honours stays at once; the reason says which and why.
    ///
    /// # Errors
    /// Why the device asked for cannot be used, by name (`device_unavailable`, `cuda_driver_missing`, ...): a request
    /// never moves to another device.
    pub fn choose_device(&self) -> Result<DeviceChoice, Refusal> {
        let choice = |kind, reason: String| Ok(DeviceChoice { kind, reason });
        match self.device {
            DeviceRequest::Cpu => choice(DeviceKind::Cpu, "asked for".to_owned()),
            DeviceRequest::Cuda(n) => choice(DeviceKind::Cuda(n), format!("asked for: {}", gpu::find(n)?)),
            DeviceRequest::Metal => staged_choice(DeviceKind::Metal, self),
            DeviceRequest::Shim => staged_choice(DeviceKind::Shim, self),
            DeviceRequest::Auto => {
                let (kind, why) = match self.only_cpu() {
                    Some(option) => {
                        (DeviceKind::Cpu, format!("{option} asked for, which GPUs have not, or not all"))
                    }
                    None => match gpu::find(0) {
                        Ok(name) => (DeviceKind::Cuda(0), name),
                        Err(refusal) => {
                            (DeviceKind::Cpu, format!("no NVIDIA GPU is used, {}", brief(&refusal)))
                        }
                    },
                };
                choice(kind, format!("auto: {why}"))
            }
        }
    }

    /// The numerics asked for, where they are not the device's own.
    pub(crate) fn foreign_numerics(&self) -> Option<Numerics> {
        self.numerics.filter(|numerics| !numerics.is_native())
    }

    /// An option that a GPU honours never or only for some models: the processor takes it or refuses it by name.
    fn only_cpu(&self) -> Option<String> {
        let weights =
            self.weights.filter(|w| matches!(w, WeightFormat::Int4 | WeightFormat::F16 | WeightFormat::Gguf));
        let kv = self.kv.filter(|kv| *kv == KvFormat::F16);
        weights
            .map(|w| format!("{w} weights"))
            .or_else(|| kv.map(|kv| format!("a KV cache of {kv}")))
            .or_else(|| self.foreign_numerics().map(|n| format!("the numerics of {n}")))
            .or_else(|| self.threads.map(|n| format!("a number of threads ({n})")))
    }
}

/// A device that is used only when it is asked for.
fn staged_choice(kind: DeviceKind, options: &OpenOptions) -> Result<DeviceChoice, Refusal> {
    Ok(DeviceChoice { kind, reason: format!("asked for: {}", staged::find(kind, options)?) })
}

/// A refusal in a few words.
fn brief(refusal: &Refusal) -> String {
    let found = refusal.findings().first().map(|f| format!(": {} {}", f.what, f.got)).unwrap_or_default();
    format!("{}{found}", refusal.code().name())
}

#[cfg(test)]
mod tests;
