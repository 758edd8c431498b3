//! check, test, golden, docs.

use crate::shell::{Step, has_cargo_tool, tell};

/// Formatting, lints, a build without features, the device for Apple GPUs, documentation, dependency policy.
pub(crate) fn check() -> anyhow::Result<()> {
    Step::cargo(&["fmt", "--all", "--", "--check"]).run()?;
    Step::cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]).run()?;
    Step::cargo(&["check", "--package", "tilewright", "--no-default-features", "--locked"]).run()?;
    if cfg!(target_os = "linux") {
        Step::program("bash", &["tools/metal-typecheck.sh", "clippy"]).run()?;
    }
    docs()?;
    if has_cargo_tool("deny") {
        // Advisories need a database from the network, so they belong to the hosted workflow.
        Step::cargo(&["deny", "--offline", "check", "bans", "licenses", "sources"]).run()
    } else {
        tell("skipped: cargo deny is not installed (cargo install cargo-deny)");
        Ok(())
    }
}

/// Every test of the workspace.
pub(crate) fn test() -> anyhow::Result<()> {
    Step::cargo(&["test", "--workspace", "--locked"]).run()
}

/// Rewrites golden files and generated pages.
pub(crate) fn golden() -> anyhow::Result<()> {
    Step::cargo(&["test", "--workspace", "--locked"])
        .env("UPDATE", "1")
        .env("INSTA_UPDATE", "always")
        .run()?;
    Step::program("git", &["status", "--short"]).run()
}

/// The API documentation, private items included, warnings as errors.
pub(crate) fn docs() -> anyhow::Result<()> {
    Step::cargo(&["doc", "--workspace", "--no-deps", "--locked", "--document-private-items"])
        .env("RUSTDOCFLAGS", "-D warnings")
        .run()
}
