//! From kernel texts to CUBINs: constants in front, the cache asked first, NVRTC only when it has none.

use tilewright_backend::{Progress, Stage, Watch};
use tilewright_model::Refusal;
use tilewright_nvrtc::Compiler;
use tilewright_tile::emit;

use crate::cache::Cache;

/// Machine code of a text, and what is worth saying about how it came to be.
#[derive(Clone, Debug)]
pub struct Kernels {
    /// The CUBIN.
    pub cubin: Vec<u8>,
    /// Whether it was compiled now.
    pub compiled: bool,
    /// One line a remark: a cache that could not be written.
    pub notes: Vec<String>,
}

/// Options that every text of this crate's own is compiled with.
pub(crate) fn options(arch: &str) -> Vec<String> {
    vec![format!("--gpu-architecture={arch}"), "--std=c++17".to_owned(), "-default-device".to_owned()]
}

/// Options that the text of a kernel of the language is compiled with: arithmetic is as written.
pub(crate) fn language_options(arch: &str) -> Vec<String> {
    let mut options = vec![format!("--gpu-architecture={arch}"), "--std=c++17".to_owned()];
    options.extend(emit::CUDA_OPTIONS.map(str::to_owned));
    options
}

/// Compiles `text` for `arch`, unless the user's cache holds the result of an earlier run.
///
/// # Errors
/// `nvrtc_missing`, `cuda_driver_too_old`, `kernel_uncompilable`.
pub fn compile(
    text: &str,
    arch: &str,
    driver: Option<(u32, u32)>,
    progress: &mut Watch<'_>,
) -> Result<Kernels, Refusal> {
    compile_with(Cache::of_user().as_ref(), text, &options(arch), arch, driver, progress)
}

/// As [`compile`], the text of a kernel of the language.
pub(crate) fn compile_language(
    text: &str,
    arch: &str,
    driver: Option<(u32, u32)>,
    progress: &mut Watch<'_>,
) -> Result<Kernels, Refusal> {
    compile_with(Cache::of_user().as_ref(), text, &language_options(arch), arch, driver, progress)
}

fn compile_with(
    cache: Option<&Cache>,
    text: &str,
    options: &[String],
    arch: &str,
    driver: Option<(u32, u32)>,
    progress: &mut Watch<'_>,
) -> Result<Kernels, Refusal> {
    // The driver is part of the key: code made for one may be refused by another.
    let driver_key = format!("{driver:?}");
    let mut parts: Vec<&[u8]> = vec![text.as_bytes(), driver_key.as_bytes()];
    parts.extend(options.iter().map(|o| o.as_bytes()));
    let key = Cache::key(&parts);
    if let Some(cubin) = cache.and_then(|cache| cache.get(&key)) {
        return Ok(Kernels { cubin, compiled: false, notes: Vec::new() });
    }
    let compiler = Compiler::find(driver)?;
    let total = text.len() as u64;
    progress(Progress { stage: Stage::Compile, done: 0, total })?;
    let (cubin, _) = compiler.cubin(text, arch, options)?;
    progress(Progress { stage: Stage::Compile, done: total, total })?;
    let stored = cache.map(|cache| cache.put(&key, &cubin));
    let notes = match stored {
        Some(Err(e)) => {
            vec![format!("kernels are compiled again next time: the cache cannot be written ({e})")]
        }
        None => vec!["kernels are compiled again next time: there is no folder for caches".to_owned()],
        Some(Ok(())) => Vec::new(),
    };
    Ok(Kernels { cubin, compiled: true, notes })
}

#[cfg(test)]
mod tests;
