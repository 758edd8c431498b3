//! `docs/refusals.md` is the list of codes, and every code has a test.

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
fn remedies_name_only_flags_that_there_are() {
    let flags = std::fs::read_to_string(root().join("docs/cli.md")).unwrap();
    for code in Code::ALL {
        for word in code.remedy().split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')) {
            let known = [format!("`{word}`"), format!("`{word} ")].iter().any(|flag| flags.contains(flag));
            assert!(!word.starts_with("--") || known, "{code:?} names {word}");
        }
    }
}

#[test]
fn every_code_has_a_test() {
    let mut text = String::new();
    read_tests(&root().join("crates"), &mut text);
    for code in Code::ALL {
        let named = [format!("Code::{code:?}"), format!("\"{}\"", code.name())];
        assert!(named.iter().any(|name| text.contains(name)), "{code:?} has no test");
    }
}

/// Appends every file of tests below `folder`.
fn read_tests(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_test = path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests");
        if path.is_dir() {
            read_tests(&path, text);
        } else if is_test && path.extension().is_some_and(|e| e == "rs") {
            text.push_str(&std::fs::read_to_string(path).unwrap());
        }
    }
}
