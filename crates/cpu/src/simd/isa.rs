//! Which instruction set runs, chosen at run time.

use std::fmt;

use tilewright_model::{Code, Refusal};

use super::{Kernel, raw};

/// An instruction set that this machine has. Obtained by [`detect`](Isa::detect) or [`named`](Isa::named) only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Isa(Kind);

/// Visible to the entry points only, so that an [`Isa`] proves detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2Vnni,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    NeonDot,
    #[cfg(target_arch = "aarch64")]
    Neon,
    Portable,
    #[cfg(test)]
    ModelAvx512,
    #[cfg(test)]
    ModelAvx2Vnni,
    #[cfg(test)]
    ModelAvx2,
    #[cfg(test)]
    ModelNeonDot,
    #[cfg(test)]
    ModelNeon,
}

impl Isa {
    /// What this machine has, fastest first. The last is always the portable one.
    pub fn available() -> Vec<Self> {
        let mut found = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            found.extend(raw::x86::has_avx512().then_some(Self(Kind::Avx512)));
            found.extend(raw::x86::has_avx2_vnni().then_some(Self(Kind::Avx2Vnni)));
            found.extend(raw::x86::has_avx2().then_some(Self(Kind::Avx2)));
        }
        #[cfg(target_arch = "aarch64")]
        found.extend(raw::aarch64::has_neon_dot().then_some(Self(Kind::NeonDot)));
        #[cfg(target_arch = "aarch64")]
        found.extend(raw::aarch64::has_neon().then_some(Self(Kind::Neon)));
        found.push(Self(Kind::Portable));
        found
    }

    /// The fastest this machine has.
    pub fn detect() -> Self {
        Self::available().first().copied().unwrap_or(Self(Kind::Portable))
    }

    /// The one called `name`.
    ///
    /// # Errors
    /// `device_unavailable` when this machine does not have it.
    pub fn named(name: &str) -> Result<Self, Refusal> {
        let available = Self::available();
        available.iter().copied().find(|isa| isa.name() == name).ok_or_else(|| {
            let names: Vec<_> = available.iter().map(|isa| isa.name()).collect();
            Refusal::new(Code::DeviceUnavailable, "instruction set", names.join(", "), name)
        })
    }

    /// What runs on every machine a test runs on: what is available, and the models of every instruction set.
    #[cfg(test)]
    pub(crate) fn testable() -> Vec<Self> {
        let mut all = Self::available();
        all.extend([Kind::ModelAvx512, Kind::ModelAvx2Vnni, Kind::ModelAvx2].map(Self));
        all.extend([Kind::ModelNeonDot, Kind::ModelNeon].map(Self));
        all
    }

    /// The name used on the command line and in plans.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2Vnni => "avx2-vnni",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => "avx2",
            #[cfg(target_arch = "aarch64")]
            Kind::NeonDot => "neon-dotprod",
            #[cfg(target_arch = "aarch64")]
            Kind::Neon => "neon",
            Kind::Portable => "portable",
            #[cfg(test)]
            Kind::ModelAvx512 => "model of avx512",
            #[cfg(test)]
            Kind::ModelAvx2Vnni => "model of avx2-vnni",
            #[cfg(test)]
            Kind::ModelAvx2 => "model of avx2",
            #[cfg(test)]
            Kind::ModelNeonDot => "model of neon-dotprod",
            #[cfg(test)]
            Kind::ModelNeon => "model of neon",
        }
    }

    /// Runs a kernel on it.
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        raw::run(self.0, kernel)
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
