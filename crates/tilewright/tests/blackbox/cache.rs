//! Quantised weights kept between starts.

use std::path::Path;

use crate::harness::{Outcome, program, stories, tilewright};

const LINE: [&str; 9] = ["run", "-p", "Once upon a time", "-n", "8", "--temp", "0", "--weights", "int8"];

fn run(extra: &[&str]) -> Outcome {
    tilewright(&[&LINE, extra].concat()).expect_code(0)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_second_start_says_that_it_read_what_the_first_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (model, cache) = (stories(), folder.path().display().to_string());
    let flags = ["-m", &model, "--cache", &cache];
    let first = run(&flags);
    let second = run(&flags);
    assert!(first.stderr.contains("packed weights kept in"), "{}", first.stderr);
    assert!(second.stderr.contains("packed weights read from"), "{}", second.stderr);
    assert_eq!(first.stdout, second.stdout);
    let none = run(&["-m", &model, "--no-cache"]);
    assert!(!none.stderr.contains("packed weights"), "{}", none.stderr);
    assert_eq!(first.stdout, none.stdout);
}

#[test]
fn nothing_is_kept_of_small_models_and_of_the_one_inside_the_program() {
    let home = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().display().to_string();
    let model = stories();
    for flags in [&["-m", &model][..], &["--cache", &cache]] {
        let outcome: Outcome = program(&home).args(LINE).args(flags).output().unwrap().into();
        outcome.expect_code(0);
    }
    assert_eq!(names(home.path()), [] as [String; 0]);
    assert_eq!(names(folder.path()), [] as [String; 0]);
}

/// A limit on the size of files stands for a full disk: both make a write fail half-way.
#[cfg(unix)]
#[test]
fn a_full_disk_costs_a_warning_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().display().to_string();
    let home = tempfile::tempdir().unwrap();
    let ours = program(&home);
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", r#"trap "" XFSZ; ulimit -f 1000; exec "$0" "$@""#]);
    shell.arg(ours.get_program()).args(LINE).args(["-m", &stories(), "--cache", &cache]);
    let outcome = Outcome::from(shell.env("HOME", home.path()).output().unwrap()).expect_code(0);
    assert!(outcome.stderr.contains("warning: packed weights could not be kept in"), "{}", outcome.stderr);
    assert_eq!(outcome.stdout, run(&["-m", &stories(), "--no-cache"]).stdout);
    assert_eq!(names(folder.path()), [] as [String; 0]);
}
