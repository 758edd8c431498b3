//! The long checks.

use std::fs;

use anyhow::{Context, bail};

use crate::check;
use crate::shell::{Step, has_cargo_tool, root};

/// check and test, the tests too slow for every change, minutes of clients that come and go, then every fuzz target for `seconds`.
pub(crate) fn full(seconds: u32) -> anyhow::Result<()> {
    check::check()?;
    check::test()?;
    Step::cargo(&["test", "--workspace", "--locked", "--", "--ignored"]).run()?;
    Step::cargo(&["test", "--package", "tilewright-serve", "--locked", "--test", "http", "load"])
        .env("TILEWRIGHT_SOAK_SECONDS", "300")
        .run()?;
    if !has_cargo_tool("fuzz") {
        bail!("cargo fuzz is not installed (cargo install cargo-fuzz --locked)");
    }
    let folder = root().join("fuzz/fuzz_targets");
    let mut targets = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        if let Some(stem) = path.file_stem().filter(|_| path.extension().is_some_and(|e| e == "rs")) {
            targets.push(stem.to_string_lossy().into_owned());
        }
    }
    targets.sort();
    for target in targets {
        let limit = format!("-max_total_time={seconds}");
        // What is tried is kept in the first folder: in that of committed finds, tests would replay thousands.
        let tried = root().join("target/fuzz").join(&target);
        fs::create_dir_all(&tried).with_context(|| format!("making {}", tried.display()))?;
        let (tried, corpus) = (tried.to_string_lossy(), format!("corpus/{target}"));
        // The sanitizer's flags are unstable; this variable lets the compiler of the project take them.
        Step::cargo(&["fuzz", "run", &target, &tried, &corpus, "--", &limit])
            .env("RUSTC_BOOTSTRAP", "1")
            .within("fuzz")
            .run()?;
    }
    Ok(())
}
