//! MSL text judged by clang as C++ for OpenCL, which has Metal's address spaces.
//!
//! It finds what the C++ compiler cannot: a pointer without its address space or with the wrong one, writes to
//! `constant` and `const device` memory, conversions that Metal wants spelt out, functions for other types.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs, process};

use crate::ShimError;
use crate::digest::digest;

const HEADER: &str = include_str!("cpp/opencl.h");

const FLAGS: [&str; 12] = [
    "-target",
    "spir64",
    "-cl-std=CLC++2021",
    "-Xclang",
    "-cl-ext=+cl_khr_fp16,+cl_khr_fp64,-__opencl_c_generic_address_space,-__opencl_c_pipes,\
     -__opencl_c_device_enqueue",
    "-nostdinc",
    "-cl-no-stdinc",
    "-Wno-unknown-attributes",
    "-Werror=double-promotion",
    "-Werror=implicit-float-conversion",
    "-fsyntax-only",
    "-xcl",
];

/// Names a clang of version 14 or later.
const VARIABLE: &str = "TILEWRIGHT_CLANG";

/// clang as a judge of MSL.
#[derive(Clone, Debug)]
pub struct Clang {
    program: String,
    version: String,
    cache: PathBuf,
}

impl Clang {
    /// The program named by `TILEWRIGHT_CLANG`, else clang, else a versioned one. Its judgements are remembered in
    /// `cache`, which is made if needed.
    ///
    /// # Errors
    /// [`ShimError::Unavailable`].
    pub fn find(cache: impl Into<PathBuf>) -> Result<Self, ShimError> {
        let named = env::var(VARIABLE).ok();
        let versions = ["clang", "clang-14", "clang-15", "clang-16", "clang-17", "clang-18", "clang-19"];
        for program in named.iter().map(String::as_str).chain(versions) {
            let Ok(output) = Command::new(program).arg("--version").output() else { continue };
            let text = String::from_utf8_lossy(&output.stdout);
            // Apple's has no C++ for OpenCL.
            if output.status.success() && !text.contains("Apple") {
                let version = text.lines().next().unwrap_or_default().to_owned();
                return Ok(Self { program: program.to_owned(), version, cache: cache.into() });
            }
        }
        Err(ShimError::Unavailable { reason: "there is no clang".to_owned() })
    }

    /// Whether the text is legal.
    ///
    /// # Errors
    /// [`ShimError::Refused`] with the messages.
    pub fn check(&self, text: &str) -> Result<(), ShimError> {
        let parts = [self.version.as_str(), HEADER, text];
        let path = self.cache.join(digest(FLAGS.into_iter().chain(parts)));
        if path.exists() {
            return Ok(());
        }
        let io = |error| ShimError::Io { what: self.cache.display().to_string(), error };
        let aside = self.cache.join(format!("{}.{:?}", process::id(), std::thread::current().id()));
        fs::create_dir_all(aside.join("MetalPerformancePrimitives")).map_err(io)?;
        fs::write(aside.join("opencl.h"), HEADER).map_err(io)?;
        for name in [
            "metal_stdlib",
            "metal_simdgroup_matrix",
            "metal_tensor",
            "MetalPerformancePrimitives/MetalPerformancePrimitives.h",
        ] {
            fs::write(aside.join(name), "#include \"opencl.h\"\n").map_err(io)?;
        }
        let started = |error| ShimError::Io { what: self.program.clone(), error };
        let mut child = Command::new(&self.program)
            .args(FLAGS)
            .args(["-I", ".", "-"])
            .current_dir(&aside)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(started)?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(text.as_bytes()).map_err(started)?;
        }
        let output = child.wait_with_output().map_err(started)?;
        fs::remove_dir_all(&aside).map_err(io)?;
        if !output.status.success() {
            return Err(ShimError::Refused {
                messages: String::from_utf8_lossy(&output.stderr).into_owned(),
            });
        }
        fs::write(&path, "").map_err(io)
    }
}
