//! Running other programs, with the command echoed first.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// A step of a task: a program and its arguments, run at the repository's root.
pub(crate) struct Step(Command);

impl Step {
    /// `cargo` with `args`.
    pub(crate) fn cargo(args: &[&str]) -> Self {
        Self::program("cargo", args)
    }

    /// Any program with `args`.
    pub(crate) fn program(program: &str, args: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(args).current_dir(root());
        Self(command)
    }

    /// Adds an environment variable.
    pub(crate) fn env(mut self, key: &str, value: &str) -> Self {
        self.0.env(key, value);
        self
    }

    /// Runs it in another folder of the repository.
    pub(crate) fn within(mut self, folder: &str) -> Self {
        self.0.current_dir(root().join(folder));
        self
    }

    /// Runs it; fails when it fails.
    pub(crate) fn run(mut self) -> anyhow::Result<()> {
        let line = self.line();
        tell(&line);
        let status = self.0.stdin(Stdio::null()).status().with_context(|| format!("starting `{line}`"))?;
        if !status.success() {
            bail!("`{line}` ended with {status}");
        }
        Ok(())
    }

    fn line(&self) -> String {
        let mut line = self.0.get_program().to_string_lossy().into_owned();
        for argument in self.0.get_args() {
            line.push(' ');
            line.push_str(&argument.to_string_lossy());
        }
        line
    }
}

/// Whether `cargo NAME` is installed.
pub(crate) fn has_cargo_tool(name: &str) -> bool {
    Command::new("cargo")
        .args([name, "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// One line to the person at the terminal.
#[expect(clippy::print_stderr, reason = "a task runner talks to its terminal")]
pub(crate) fn tell(line: &str) {
    eprintln!("+ {line}");
}
