//! NVRTC, which compiles CUDA text and needs no GPU: found where the system's loader looks, in toolkits and in Python wheels,
//! and called.

mod raw;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tilewright_model::{Code, Finding, Refusal};

use raw::{Failure, Nvrtc};

/// The variable that names a library, or a folder that holds it, instead of the search.
pub const VARIABLE: &str = "TILEWRIGHT_NVRTC";

/// A loaded NVRTC that makes CUBINs the driver can load.
pub struct Compiler {
    nvrtc: Nvrtc,
    version: (u32, u32),
    place: PathBuf,
}

impl std::fmt::Debug for Compiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NVRTC {}.{} at {}", self.version.0, self.version.1, self.place.display())
    }
}

impl Compiler {
    /// The first NVRTC of the search whose CUBINs a driver of CUDA `driver` loads; any, when no driver is given.
    ///
    /// # Errors
    /// `nvrtc_missing` when there is none, `cuda_driver_too_old` when there are only newer ones.
    pub fn find(driver: Option<(u32, u32)>) -> Result<Self, Refusal> {
        let mut newer = Vec::new();
        let places = search();
        for place in &places {
            let Ok(nvrtc) = Nvrtc::load(place.as_os_str()) else { continue };
            let Ok(version) = nvrtc.version() else { continue };
            // A driver loads code of every toolkit up to its own major version.
            if driver.is_some_and(|driver| version.0 > driver.0) {
                newer.push(Finding::new(
                    place.display().to_string(),
                    format!("NVRTC {} or older, for this driver", driver.map_or(0, |d| d.0)),
                    format!("{}.{}", version.0, version.1),
                ));
                continue;
            }
            return Ok(Self { nvrtc, version, place: place.clone() });
        }
        Refusal::check(Code::CudaDriverTooOld, newer)?;
        Err(Refusal::new(
            Code::NvrtcMissing,
            "libnvrtc",
            "a library in the loader's path, in CUDA_HOME, CUDA_PATH or /usr/local/cuda, or in the packages of a Python",
            format!("none among {} places", places.len()),
        ))
    }

    /// The library in `folder`.
    ///
    /// # Errors
    /// `nvrtc_missing`.
    pub fn open(folder: &Path) -> Result<Self, Refusal> {
        let found = NAMES.iter().map(|name| folder.join(name)).find_map(|place| {
            let nvrtc = Nvrtc::load(place.as_os_str()).ok()?;
            let version = nvrtc.version().ok()?;
            Some(Self { nvrtc, version, place })
        });
        let refusal = || Refusal::new(Code::NvrtcMissing, "libnvrtc", NAMES.join(" or "), "none that loads");
        found.ok_or_else(|| refusal().at(folder.display()))
    }

    /// Major and minor version.
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Where it was found.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Compiles `text` for `arch` (`sm_90a`); also what the compiler said.
    ///
    /// # Errors
    /// `kernel_uncompilable` with the compiler's log.
    pub fn cubin(&self, text: &str, arch: &str, options: &[String]) -> Result<(Vec<u8>, String), Refusal> {
        self.nvrtc.cubin(text, options).map_err(|failure| {
            let got = match failure {
                Failure::Call(name, why) => format!("{name}: {why}"),
                Failure::Text(log) => log,
            };
            Refusal::new(
                Code::KernelUncompilable,
                format!("kernels for {arch}"),
                "a text that NVRTC compiles",
                got,
            )
            .at(self.place.display())
        })
    }
}

/// File names of the library, newest first.
const NAMES: &[&str] = if cfg!(windows) {
    &["nvrtc64_130_0.dll", "nvrtc64_120_0.dll"]
} else {
    &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]
};

/// Every place where the library is looked for, in order: the one named by `TILEWRIGHT_NVRTC` alone, else the loader's
/// own, toolkits, then the packages of Pythons. Places that do not exist are left out, bare names apart.
pub fn search() -> Vec<PathBuf> {
    if let Some(named) = env::var_os(VARIABLE).filter(|v| !v.is_empty()) {
        let named = PathBuf::from(named);
        return if named.is_dir() {
            NAMES.iter().map(|name| named.join(name)).collect()
        } else {
            vec![named]
        };
    }
    let mut places: Vec<PathBuf> = NAMES.iter().map(PathBuf::from).collect();
    let mut folders = Vec::new();
    for root in ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(env::var_os).map(PathBuf::from) {
        folders.extend([root.join("lib64"), root.join("lib"), root.join("bin"), root.join("bin/x64")]);
    }
    folders.extend(["/usr/local/cuda/lib64", "/opt/cuda/lib64"].map(PathBuf::from));
    folders.extend(packages().iter().flat_map(|packages| wheel_folders(packages)));
    for folder in folders {
        places.extend(NAMES.iter().map(|name| folder.join(name)).filter(|path| path.is_file()));
    }
    places
}

/// Folders of a wheel that can hold the library.
fn wheel_folders(packages: &Path) -> [PathBuf; 4] {
    ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", "nvidia/cu13/bin/x86_64", "nvidia/cuda_nvrtc/bin"]
        .map(|folder| packages.join(folder))
}

/// Folders of installed Python packages: of the active environment, of every Python in the path, of the user.
fn packages() -> Vec<PathBuf> {
    let mut prefixes: Vec<PathBuf> =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(env::var_os).map(PathBuf::from).collect();
    let path = env::var_os("PATH").unwrap_or_default();
    let pythons = if cfg!(windows) { ["python.exe", "python3.exe"] } else { ["python3", "python"] };
    for folder in env::split_paths(&path).filter(|f| pythons.iter().any(|p| f.join(p).is_file())) {
        prefixes.extend(if cfg!(windows) { Some(folder) } else { folder.parent().map(Path::to_path_buf) });
    }
    prefixes.extend(env::var_os("HOME").map(|home| PathBuf::from(home).join(".local")));
    let mut found: Vec<PathBuf> = Vec::new();
    for prefix in prefixes {
        for package in site_packages(&prefix) {
            if !found.contains(&package) {
                found.push(package);
            }
        }
    }
    found
}

/// `lib/python3.*/site-packages` (and Debian's `dist-packages`) below a prefix, newest Python first.
fn site_packages(prefix: &Path) -> Vec<PathBuf> {
    if cfg!(windows) {
        return vec![prefix.join("Lib/site-packages")];
    }
    let mut versions: Vec<(u32, OsString)> = std::fs::read_dir(prefix.join("lib"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let minor = name.to_str()?.strip_prefix("python3.")?.parse().ok()?;
            Some((minor, name))
        })
        .collect();
    versions.sort_unstable_by(|a, b| b.cmp(a));
    let below = |name: OsString| {
        ["site-packages", "dist-packages"].map(|kind| prefix.join("lib").join(&name).join(kind))
    };
    versions.into_iter().flat_map(|(_, name)| below(name)).filter(|p| p.is_dir()).collect()
}

#[cfg(test)]
mod tests;
