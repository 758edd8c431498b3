//! The reports in `reports`: each is sound, and what is drawn and said of it is what follows from it.

use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest, Sha256};
use tilewright_model::embedded_files;

use crate::audit::{AnyReport, audit_path};
use crate::chart;
use crate::report::{Report, hex};
use crate::table::{markdown, overview};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The committed reports of models, by their path below the root.
fn reports() -> Vec<(String, Report)> {
    let audited = audit_path(&root().join("reports")).unwrap();
    let named = audited.into_iter().filter_map(|(path, report)| {
        let name = path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        match report {
            AnyReport::Run(report) => Some((name, *report)),
            AnyReport::Load(_) => None,
        }
    });
    named.collect()
}

/// Compares a committed text with what it should be; `UPDATE=1` writes it instead.
fn expect(path: &Path, text: &str) {
    if env::var_os("UPDATE").is_some_and(|v| v == "1") {
        fs::write(path, text).unwrap();
    }
    let written = fs::read_to_string(path).unwrap_or_default();
    assert!(written == text, "{} is out of date: run again with UPDATE=1", path.display());
}

#[test]
fn every_committed_report_is_sound_optimised_and_in_the_folder_of_its_day_and_machine() {
    for (name, report) in reports() {
        let folder = format!("reports/{}-{}", &report.created[..10], report.machine.class);
        let rest = name.strip_prefix(&folder).and_then(|rest| rest.split_once('/')).map(|(more, _)| more);
        // An experiment that was run again on its day is in a second folder.
        let is_there = rest.is_some_and(|more| more.is_empty() || more == "-2");
        assert!(is_there, "{name} is not in {folder}");
        assert!(report.software.optimised, "{name}: of a program without optimisation");
        // Earlier programs hashed sources only where they ran.
        if report.schema > 1 {
            assert!(report.fingerprints.before.contains_key("sources"), "{name}: of no known sources");
        }
        if report.model.name == "stories-qwen3" {
            for (file, bytes) in embedded_files() {
                let hash = &report.fingerprints.before[&format!("checkpoint/{file}")];
                assert_eq!(*hash, hex(&Sha256::digest(bytes)), "{name}: {file}");
            }
        }
    }
}

#[test]
fn pages_and_tables_of_committed_reports_are_what_follows_from_them() {
    for (name, report) in reports() {
        let path = root().join(&name);
        expect(&path.with_extension("html"), &chart::page(&report));
        if report.passed().is_some() {
            expect(&path.with_extension("md"), &markdown(&report).unwrap());
        }
    }
}

#[test]
fn the_table_of_the_readme_is_made_from_the_reports() {
    const MARKS: [&str; 2] = ["<!-- made from reports -->\n", "<!-- end -->"];
    let path = root().join("README.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(MARKS[0]).unwrap();
    let (_, after) = rest.split_once(MARKS[1]).unwrap();
    let reports = reports();
    let table = overview(&reports.iter().map(|(name, report)| (name.as_str(), report)).collect::<Vec<_>>());
    expect(&path, &format!("{before}{}{table}{}{after}", MARKS[0], MARKS[1]));
}
