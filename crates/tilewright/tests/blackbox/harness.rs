//! Starting the program in an environment of its own, and looking at what it said.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// What a run left behind.
pub(crate) struct Outcome {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// Standard output as one JSON object on one line.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "not one line: {}\n{}", self.stdout, self.stderr);
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// The refusal object that `--json` printed, after checking the exit code.
    pub(crate) fn refusal(&self) -> Value {
        assert_eq!(self.code, Some(1), "{}{}", self.stdout, self.stderr);
        self.json()["refusal"].clone()
    }

    /// Fails, with both streams, unless the exit code is `code`.
    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The program with no variable of ours set and a home of its own, so that no test sees what another left there.
pub(crate) fn program(home: &TempDir) -> Command {
    apart(Command::new(env!("CARGO_BIN_EXE_tilewright")), home)
}

/// The program after `line` of a shell, such as a limit that the program is to meet.
pub(crate) fn program_after(line: &str, home: &TempDir) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{line}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_tilewright")]);
    apart(shell, home)
}

fn apart(mut command: Command, home: &TempDir) -> Command {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TILEWRIGHT_") {
            command.env_remove(name);
        }
    }
    for variable in ["HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"] {
        command.env(variable, home.path());
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the program with nothing on standard input.
pub(crate) fn tilewright(args: &[&str]) -> Outcome {
    let home = tempfile::tempdir().unwrap();
    program(&home).args(args).output().unwrap().into()
}

/// Runs the program with `input` on standard input.
pub(crate) fn tilewright_reading(args: &[&str], input: &str) -> Outcome {
    let home = tempfile::tempdir().unwrap();
    let mut child = program(&home).args(args).stdin(Stdio::piped()).spawn().unwrap();
    // A program that refuses early may close its input before all of it was written.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap().into()
}

/// Runs the program with variables set.
pub(crate) fn tilewright_with(variables: &[(&str, &str)], args: &[&str]) -> Outcome {
    let home = tempfile::tempdir().unwrap();
    program(&home).envs(variables.iter().copied()).args(args).output().unwrap().into()
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of the default model.
pub(crate) fn stories() -> String {
    root().join("models/stories-qwen3").display().to_string()
}

/// The stored float64 results of the default model.
pub(crate) fn reference() -> Value {
    serde_json::from_slice(&std::fs::read(root().join("models/stories-qwen3/reference.json")).unwrap())
        .unwrap()
}

/// Numbers of a JSON list.
pub(crate) fn ids(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect()
}
