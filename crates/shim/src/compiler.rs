//! The C++ compiler, and the folder where compiled texts are kept.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, process};

use crate::ShimError;
use crate::digest::digest;

/// Our headers, and those of Metal's that texts include.
const HEADERS: [(&str, &str); 11] = [
    ("fibers.h", include_str!("cpp/fibers.h")),
    ("lanes.h", include_str!("cpp/lanes.h")),
    ("numbers.h", include_str!("cpp/numbers.h")),
    ("msl.h", include_str!("cpp/msl.h")),
    ("msl_matrix.h", include_str!("cpp/msl_matrix.h")),
    ("msl_tensor.h", include_str!("cpp/msl_tensor.h")),
    ("cuda.h", include_str!("cpp/cuda.h")),
    ("metal_stdlib", "#include \"msl.h\"\n"),
    ("metal_simdgroup_matrix", "#include \"msl.h\"\n"),
    ("metal_tensor", "#include \"msl.h\"\n"),
    ("MetalPerformancePrimitives/MetalPerformancePrimitives.h", "#include \"msl.h\"\n"),
];

/// Arithmetic as written: nothing contracted, nothing reordered. Vectors are read where single elements were written.
const FLAGS: [&str; 14] = [
    "-std=c++17",
    "-O1",
    "-shared",
    "-fPIC",
    "-ffp-contract=off",
    "-fno-fast-math",
    "-fno-math-errno",
    "-fno-strict-aliasing",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fvisibility=hidden",
    "-w",
];

/// A C++ compiler.
#[derive(Clone, Debug)]
pub struct Compiler {
    program: String,
    /// First line of `--version`, part of what a compiled text is known by.
    version: String,
    flags: Vec<&'static str>,
    cache: PathBuf,
}

impl Compiler {
    /// The compiler named by `CXX`, else g++, else clang++. Compiled texts are kept in `cache`, which is made if needed.
    ///
    /// # Errors
    /// [`ShimError::Unavailable`].
    pub fn find(cache: impl Into<PathBuf>) -> Result<Self, ShimError> {
        if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Err(ShimError::Unavailable { reason: "this is another system".to_owned() });
        }
        let named = env::var("CXX").ok();
        let candidates = named.iter().map(String::as_str).chain(["g++", "clang++", "clang++-14"]);
        for program in candidates {
            let Ok(output) = Command::new(program).arg("--version").output() else { continue };
            if output.status.success() {
                let text = String::from_utf8_lossy(&output.stdout);
                let version = text.lines().next().unwrap_or_default().to_owned();
                let (program, flags) = (program.to_owned(), flags());
                return Ok(Self { program, version, flags, cache: cache.into() });
            }
        }
        Err(ShimError::Unavailable { reason: "there is no compiler".to_owned() })
    }

    /// Compiles a C++ file, or finds it compiled; the path of the library.
    pub(crate) fn library(&self, source: &str) -> Result<PathBuf, ShimError> {
        let compiler = [&self.program, &self.version].into_iter().map(String::as_str);
        let headers = HEADERS.iter().flat_map(|&(name, text)| [name, text]);
        let key = digest(compiler.chain(self.flags.iter().copied()).chain(headers).chain([source]));
        let library = self.cache.join(format!("{key}.so"));
        if library.exists() {
            return Ok(library);
        }
        // Others may be at the same work, in this process too: everything is made aside and moved into place.
        static ASIDE: AtomicU64 = AtomicU64::new(0);
        let number = ASIDE.fetch_add(1, Ordering::Relaxed);
        let aside = self.cache.join(format!("{key}.{}.{number}", process::id()));
        let io = |what: &Path| {
            let what = what.display().to_string();
            move |error| ShimError::Io { what, error }
        };
        let framework = aside.join("MetalPerformancePrimitives");
        fs::create_dir_all(&framework).map_err(io(&framework))?;
        for (name, text) in HEADERS.into_iter().chain([("kernels.cpp", source)]) {
            fs::write(aside.join(name), text).map_err(io(&aside))?;
        }
        let output = Command::new(&self.program)
            .args(&self.flags)
            .args(["-I", ".", "-o", "kernels.so", "kernels.cpp", "-lm"])
            .current_dir(&aside)
            .output()
            .map_err(io(Path::new(&self.program)))?;
        if !output.status.success() {
            let messages = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(ShimError::Refused { messages });
        }
        fs::rename(aside.join("kernels.so"), &library).map_err(io(&library))?;
        fs::remove_dir_all(&aside).map_err(io(&aside))?;
        Ok(library)
    }
}

/// With fused multiply-adds as instructions where this processor has them; the results are the same without.
fn flags() -> Vec<&'static str> {
    let mut flags = FLAGS.to_vec();
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2") {
        flags.extend(["-mavx2", "-mfma"]);
    }
    flags
}
