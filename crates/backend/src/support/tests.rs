//! `docs/gpu-support.md` is the table.

use std::fmt::Write;
use std::path::Path;

use super::*;

fn page() -> String {
    let mut page = String::from(
        "# GPU support\n\n\
         What each device needs, and on what hardware it has been run, by whom it was written: nobody else has reported yet. \
         [metal.md](metal.md) and [nvidia.md](nvidia.md) say more of each; `tilewright doctor` says what is found on a machine.\n\n\
         This page is generated from `crates/backend/src/support.rs`, by whose numbers devices are gated; \
         `UPDATE=1 cargo test -p tilewright-backend support` rewrites it.\n\n\
         | device | hardware | shown to work | evidence |\n| --- | --- | --- | --- |\n",
    );
    for row in SUPPORT {
        let Support { device, hardware, standing, evidence } = row;
        writeln!(page, "| `{device}` | {hardware} | {} | {evidence} |", standing.name()).unwrap();
    }
    page.push_str("\n| device | needs |\n| --- | --- |\n");
    for device in ["metal", "cuda", "shim"] {
        writeln!(page, "| `{device}` | {} |", needs(device).join("; ")).unwrap();
    }
    page
}

#[test]
fn the_page_is_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gpu-support.md");
    if std::env::var_os("UPDATE").is_some_and(|v| v == "1") {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page(), "docs/gpu-support.md is out of date: run again with UPDATE=1");
}

#[test]
fn nothing_is_claimed_for_apple_hardware() {
    let apple = SUPPORT.iter().find(|row| row.device == "metal").unwrap();
    assert_ne!(apple.standing, Standing::Ran, "set this when a report of `tilewright selftest` has come");
    assert_eq!(needs("metal"), ["macOS 14 or newer", "a GPU of family Apple 7 (M1) or newer"]);
}
