//! What each device needs, and on what it has run. Devices gate by the numbers; `docs/gpu-support.md` shows the table.

#[cfg(test)]
mod tests;

/// The oldest macOS whose Metal has what the kernels are written in (Metal Shading Language 3.1).
pub const LEAST_MACOS: u32 = 14;
/// The oldest family of Apple GPUs with matrix products of SIMD groups: that of the M1.
pub const LEAST_APPLE_FAMILY: u32 = 7;
/// The oldest CUDA compute capability with the instructions that the kernels use.
pub const LEAST_CUDA_CAPABILITY: (u32, u32) = (7, 5);
/// The oldest CUDA version of the NVIDIA driver.
pub const LEAST_CUDA_DRIVER: (u32, u32) = (12, 0);

/// How far a device has been shown to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It ran on this hardware.
    Ran,
    /// Its kernel texts and its session ran, on something else.
    RanElsewhere,
    /// Nothing of it has run.
    NotRun,
}

impl Standing {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ran => "run there",
            Self::RanElsewhere => "run elsewhere, not there",
            Self::NotRun => "not run",
        }
    }
}

/// A device on some hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// `--device`.
    pub device: &'static str,
    /// The hardware.
    pub hardware: &'static str,
    /// How far it has been shown to work.
    pub standing: Standing,
    /// What ran, where and when.
    pub evidence: &'static str,
}

/// Every device and hardware that something is said about.
pub const SUPPORT: [Support; 6] = [
    Support {
        device: "metal",
        hardware: "Apple GPUs, M1 and newer",
        standing: Standing::RanElsewhere,
        evidence: "the session and the text of every kernel on the shim (Linux x86-64, November 2026); calls of Metal are \
                   type-checked only",
    },
    Support {
        device: "shim",
        hardware: "Linux on x86-64 with g++ or clang++",
        standing: Standing::Ran,
        evidence: "all of the device's tests, on an AMD EPYC of the Zen 3 kind, November 2026",
    },
    Support {
        device: "cuda",
        hardware: "NVIDIA H200 (compute capability 9.0)",
        standing: Standing::Ran,
        evidence: "the device's tests and measurements, driver 580.159, November 2026",
    },
    Support {
        device: "cuda",
        hardware: "NVIDIA GPUs of compute capability 7.5, 8.0, 8.6, 8.9, 10.0 and 12.0",
        standing: Standing::NotRun,
        evidence: "kernel texts are compiled for each of them by NVRTC 13.0, which also counts their registers",
    },
    Support {
        device: "cuda",
        hardware: "NVIDIA GPUs below compute capability 7.5",
        standing: Standing::NotRun,
        evidence: "refused by name",
    },
    Support {
        device: "-",
        hardware: "AMD GPUs",
        standing: Standing::NotRun,
        evidence: "there is no device for them",
    },
];

/// What a device needs, one line each.
pub fn needs(device: &str) -> Vec<String> {
    match device {
        "metal" => vec![
            format!("macOS {LEAST_MACOS} or newer"),
            format!("a GPU of family Apple {LEAST_APPLE_FAMILY} (M1) or newer"),
        ],
        "cuda" => {
            let ((major, minor), (driver, sub)) = (LEAST_CUDA_CAPABILITY, LEAST_CUDA_DRIVER);
            vec![
                format!("compute capability {major}.{minor} or newer"),
                format!("NVIDIA's driver for CUDA {driver}.{sub} or newer, and NVRTC"),
            ]
        }
        "shim" => vec!["Linux on x86-64, g++ or clang++".to_owned()],
        _ => Vec::new(),
    }
}
