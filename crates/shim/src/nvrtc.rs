//! CUDA text compiled by NVRTC, which needs no GPU: whether it compiles, and what the machine code uses.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use tilewright_model::Refusal;
use tilewright_nvrtc::{Compiler, VARIABLE};
use tilewright_tile::emit::CUDA_OPTIONS;

use crate::ShimError;
use crate::digest::digest;

/// The architectures that text is compiled for, from Turing to Blackwell.
pub const ARCHITECTURES: [&str; 7] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"];

/// What a kernel's machine code uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of shared memory of a threadgroup.
    pub shared: u32,
    /// Bytes of a thread's stack.
    pub stack: u32,
    /// Bytes of registers stored to it for want of registers.
    pub spilled: u32,
}

/// The compiler.
pub struct Nvrtc {
    compiler: Compiler,
    cache: PathBuf,
}

impl Nvrtc {
    /// The library in the folder that `TILEWRIGHT_NVRTC` names, else in `folder`. What texts use is remembered in
    /// `cache`, which is made if needed.
    ///
    /// # Errors
    /// [`ShimError::NoNvrtc`].
    pub fn find(folder: &Path, cache: impl Into<PathBuf>) -> Result<Self, ShimError> {
        let named = env::var_os(VARIABLE).map(PathBuf::from);
        let folder = named.unwrap_or_else(|| folder.to_path_buf());
        let compiler = Compiler::open(&folder)
            .map_err(|refusal| ShimError::NoNvrtc { folder, reason: refusal.to_string() })?;
        Ok(Self { compiler, cache: cache.into() })
    }

    /// Major and minor version.
    pub fn version(&self) -> (u32, u32) {
        self.compiler.version()
    }

    /// Compiles `text` for an architecture.
    ///
    /// # Errors
    /// [`ShimError::Refused`] with the compiler's messages.
    pub fn compile(&self, text: &str, architecture: &str) -> Result<Usage, ShimError> {
        let mut options = vec![format!("--gpu-architecture={architecture}"), "--std=c++17".to_owned()];
        options.extend(CUDA_OPTIONS.map(str::to_owned));
        options.push("--ptxas-options=-v".to_owned());
        let (major, minor) = self.compiler.version();
        let known_by = [format!("{major}.{minor}"), options.join(" "), text.to_owned()];
        let path = self.cache.join(digest(known_by.iter().map(String::as_str)));
        let log = match fs::read_to_string(&path) {
            Ok(log) => log,
            Err(_) => {
                let refused = |refusal: Refusal| ShimError::Refused { messages: refusal.to_string() };
                let (_, log) = self.compiler.cubin(text, architecture, &options).map_err(refused)?;
                let aside = self.cache.join(format!("{}.{:?}", process::id(), std::thread::current().id()));
                let io = |error| ShimError::Io { what: path.display().to_string(), error };
                fs::create_dir_all(&self.cache).map_err(io)?;
                fs::write(&aside, &log).map_err(io)?;
                fs::rename(&aside, &path).map_err(io)?;
                log
            }
        };
        usage(&log).ok_or_else(|| ShimError::Refused { messages: format!("no usage in `{log}`") })
    }
}

/// Reads what `ptxas` says of the one kernel.
fn usage(log: &str) -> Option<Usage> {
    let before = |unit: &str| -> Option<u32> {
        let end = log.find(unit)?;
        log[..end].trim_end().rsplit([' ', ',']).next()?.parse().ok()
    };
    Some(Usage {
        registers: before(" registers")?,
        shared: before(" bytes smem").unwrap_or(0),
        stack: before(" bytes stack frame")?,
        spilled: before(" bytes spill stores")?,
    })
}

#[cfg(test)]
mod tests;
