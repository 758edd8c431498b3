//! `docs/refusals.md` is the list of codes, and every code of this crate's files has a test.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use tilewright_model::Code;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    let mut page = String::from(
        "# Refusals\n\n\
         Whatever cannot be honoured is refused with a stable number and name, and every mismatch is listed in one \
         message: what was looked at, what would have been accepted, what was there. A number never changes its \
         meaning and is never used again.\n\n\
         This page is generated from `crates/model/src/refusal/code.rs`; \
         `UPDATE=1 cargo test -p tilewright-model --test refusals page` rewrites it.\n\n\
         | number | name |\n| --- | --- |\n",
    );
    for code in Code::ALL {
        writeln!(page, "| {} | [`{}`](#{1}) |", code.number(), code.name()).unwrap();
    }
    for code in Code::ALL {
        let (number, name) = (code.number(), code.name());
        let (what, why, remedy) = (code.what(), code.why(), code.remedy());
        write!(page, "\n## {name}\n\n`{number}`. {what}\n\n**Why refused.** {why}\n\n**Remedy.** {remedy}\n")
            .unwrap();
    }
    page
}

#[test]
fn the_page_is_what_the_code_says() {
    let path = root().join("docs/refusals.md");
    if std::env::var_os("UPDATE").is_some_and(|v| v == "1") {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page(), "docs/refusals.md is out of date: run again with UPDATE=1");
}

#[test]
fn numbers_and_names_are_unique_and_in_order() {
    assert!(Code::ALL.windows(2).all(|pair| pair[0].number() < pair[1].number()), "{:?}", Code::ALL);
    let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Code::ALL.len());
}

#[test]
fn every_code_about_files_has_a_test_here() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/refusals");
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        text += &std::fs::read_to_string(entry.unwrap().path()).unwrap();
    }
    for code in Code::ALL.iter().filter(|code| (700..725).contains(&code.number())) {
        assert!(text.contains(&format!("Code::{code:?}")), "{code:?} has no test");
    }
}
