//! What can go wrong.

/// Why a text was not compiled or not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ShimError {
    /// Another system, or no compiler.
    #[error("emitted text runs under Linux on x86-64 with g++ or clang++ installed; {reason}")]
    Unavailable {
        /// What is missing.
        reason: String,
    },
    /// NVRTC is not installed.
    #[error("no NVRTC in {folder}: {reason}")]
    NoNvrtc {
        /// Where it was looked for.
        folder: std::path::PathBuf,
        /// What the loader said.
        reason: String,
    },
    /// A file could not be read or written, or a program not started.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// The text has no kernel, or a parameter of an unknown kind.
    #[error("the text cannot be translated: {reason}")]
    Text {
        /// What was not understood.
        reason: String,
    },
    /// The compiler refused.
    #[error("the compiler refused the text:\n{messages}")]
    Refused {
        /// Its messages; lines are those of the text.
        messages: String,
    },
    /// A compiled library that cannot be loaded.
    #[error("the compiled text cannot be loaded: {0}")]
    Load(#[from] libloading::Error),
    /// The launch does not fit the kernel.
    #[error("the launch does not fit kernel {kernel}: {reasons}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// Everything found.
        reasons: String,
    },
    /// The run stopped.
    #[error(
        "kernel {kernel}, threadgroup {group:?}, thread {thread}, line {line}: {what} (thread {other}, line {other_line})"
    )]
    Stopped {
        /// The kernel.
        kernel: String,
        /// Threadgroup.
        group: [u32; 3],
        /// Thread in its threadgroup.
        thread: u32,
        /// Line of the text; 0 is the end of the kernel.
        line: u32,
        /// What was noticed.
        what: String,
        /// The thread it was compared with.
        other: u32,
        /// Where that one is.
        other_line: u32,
    },
}
