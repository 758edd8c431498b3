//! The Apple device and the shim, where this build has them: everything else asks here.

use tilewright_backend::DeviceKind;
use tilewright_model::{Code, Finding, Refusal};

use crate::OpenOptions;

/// Refuses options that only some devices have, where they are asked of another.
pub(crate) fn check(kind: DeviceKind, options: &OpenOptions) -> Result<(), Refusal> {
    let staged = matches!(kind, DeviceKind::Metal | DeviceKind::Shim);
    let mut findings = Vec::new();
    let mut wrong = |what: &str, asked: Option<String>, expected: &str| {
        findings.extend(asked.map(|asked| Finding::new(what, expected, asked)));
    };
    if kind != DeviceKind::Cpu {
        let expected = "native; others are a choice of the device cpu";
        wrong("numerics", options.foreign_numerics().map(|n| n.to_string()), expected);
    }
    if staged {
        wrong("threads", options.threads.map(|n| n.to_string()), "none, which this device does not have");
    } else {
        let expected = "none, a choice of the devices metal and shim";
        wrong("attention", options.attention.map(|a| a.to_string()), expected);
        wrong("gemm", options.gemm.map(|g| g.to_string()), expected);
    }
    Refusal::check(Code::DeviceOptionInvalid, findings)
}

#[cfg(feature = "metal")]
mod present {
    use std::path::PathBuf;

    use tilewright_backend::{DeviceKind, Plan, Resident, Watch};
    use tilewright_metal::{MetalOptions, Target};
    use tilewright_model::{Checkpoint, Config, Parameters, Refusal, StoredType};

    use crate::{Cache, OpenOptions, user_cache_folder};

    /// Where the shim keeps compiled texts.
    fn folder(options: &OpenOptions) -> Option<PathBuf> {
        let folder = match &options.cache {
            Cache::Folder(folder) => Some(folder.clone()),
            Cache::User | Cache::Off => user_cache_folder(),
        };
        folder.map(|folder| folder.join("shim"))
    }

    /// What `act` gives for the device of `kind`.
    fn with<T>(kind: DeviceKind, options: &OpenOptions, act: impl FnOnce(Target<'_>) -> T) -> T {
        match kind {
            DeviceKind::Shim => act(Target::Shim(folder(options).as_deref())),
            _ => act(Target::Apple),
        }
    }

    fn metal_options(options: &OpenOptions) -> MetalOptions {
        MetalOptions {
            weights: options.weights,
            kv: options.kv,
            context: options.context,
            prefill_chunk: options.prefill_chunk,
            attention: options.attention,
            gemm: options.gemm,
        }
    }

    /// The name of the device.
    pub(crate) fn find(kind: DeviceKind, options: &OpenOptions) -> Result<String, Refusal> {
        with(kind, options, |target| tilewright_metal::find(target).map(|facts| facts.name))
    }

    pub(crate) fn resolve_plan(
        kind: DeviceKind,
        config: &Config,
        stored: &Parameters<StoredType>,
        options: &OpenOptions,
    ) -> Result<Plan, Refusal> {
        let facts = with(kind, options, tilewright_metal::find)?;
        tilewright_metal::resolve_plan(config, stored, &metal_options(options), &facts)
    }

    pub(crate) fn open(
        kind: DeviceKind,
        checkpoint: &Checkpoint,
        options: &OpenOptions,
        progress: &mut Watch<'_>,
    ) -> Result<Box<dyn Resident>, Refusal> {
        with(kind, options, |target| {
            tilewright_metal::open(target, checkpoint, &metal_options(options), progress)
        })
    }
}

#[cfg(not(feature = "metal"))]
mod absent {
    use tilewright_backend::{DeviceKind, Plan, Resident, Watch};
    use tilewright_model::{Checkpoint, Code, Config, Parameters, Refusal, StoredType};

    use crate::OpenOptions;

    fn refusal(kind: DeviceKind) -> Refusal {
        let expected = "a device of this build; metal and shim are left out";
        Refusal::new(Code::ShaderToolchainAbsent, "device", expected, kind)
    }

    pub(crate) fn find(kind: DeviceKind, _: &OpenOptions) -> Result<String, Refusal> {
        Err(refusal(kind))
    }

    pub(crate) fn resolve_plan(
        kind: DeviceKind,
        _: &Config,
        _: &Parameters<StoredType>,
        _: &OpenOptions,
    ) -> Result<Plan, Refusal> {
        Err(refusal(kind))
    }

    pub(crate) fn open(
        kind: DeviceKind,
        _: &Checkpoint,
        _: &OpenOptions,
        _: &mut Watch<'_>,
    ) -> Result<Box<dyn Resident>, Refusal> {
        Err(refusal(kind))
    }
}

#[cfg(not(feature = "metal"))]
pub(crate) use absent::{find, open, resolve_plan};
#[cfg(feature = "metal")]
pub(crate) use present::{find, open, resolve_plan};
