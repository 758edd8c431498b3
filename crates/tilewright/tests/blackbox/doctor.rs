//! `doctor`.

use crate::harness::tilewright;

#[test]
fn the_last_line_is_the_verdict() {
    let outcome = tilewright(&["doctor"]).expect_code(0);
    assert_eq!(outcome.stdout.lines().last(), Some("READY"), "{}", outcome.stdout);
    for label in ["version", "processor", "memory", "device", "cache", "kernel", "model"] {
        assert!(
            outcome.stdout.lines().any(|l| l.starts_with(label)),
            "no line for {label}: {}",
            outcome.stdout
        );
    }
    assert_eq!(outcome.stderr, "");
}

#[test]
fn json_has_every_check_with_its_outcome() {
    let object = tilewright(&["doctor", "--json"]).expect_code(0).json();
    assert_eq!(object["ready"], true);
    let checks = object["checks"].as_array().unwrap();
    let names: Vec<&str> = checks.iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["memory", "kernel", "kernel", "kernel", "kernel", "model", "model"]);
    assert!(checks.iter().all(|c| c["passed"] == true && c["remedy"].is_null()), "{object}");
    assert!(object["machine"]["cores"].as_u64().unwrap() > 0);
    let usable: Vec<bool> = object["machine"]["devices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["usable"].as_bool().unwrap())
        .collect();
    assert_eq!(usable, [true, false, false]);
}

#[test]
fn a_device_that_is_asked_for_and_absent_is_not_ready() {
    let outcome = tilewright(&["doctor", "--device", "cuda:7"]).expect_code(1);
    let last = outcome.stdout.lines().last().unwrap_or_default();
    assert!(last.starts_with("NOT READY: "), "{}", outcome.stdout);
    let failed: Vec<&str> = outcome.stdout.lines().filter(|line| line.contains("FAILED")).collect();
    assert_eq!(failed.len(), 2, "{}", outcome.stdout);
    assert!(failed.iter().all(|line| line.contains("on cuda:7") && line.contains("cuda_")), "{failed:?}");
}

#[test]
fn the_processor_alone_is_ready_whatever_else_is_there() {
    let outcome = tilewright(&["doctor", "--device", "cpu", "--json"]).expect_code(0).json();
    assert_eq!(outcome["checks"].as_array().unwrap().len(), 7);
}

#[test]
fn the_cache_that_a_variable_names_is_the_one_that_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.packed"), [0; 2048]).unwrap();
    let named = folder.path().to_str().unwrap();
    let outcome = crate::harness::tilewright_with(
        &[("TILEWRIGHT_CACHE", named)],
        &["doctor", "--device", "cpu", "--json"],
    );
    let cache = &outcome.json()["machine"]["cache"];
    assert_eq!((cache["folder"].as_str(), cache["bytes"].as_u64()), (Some(named), Some(2048)));
}

#[test]
fn the_processor_is_usable_though_nobody_asked_for_it() {
    let page = crate::harness::tilewright(&["doctor"]).stdout;
    assert!(page.lines().any(|line| line.ends_with("cpu: usable")), "{page}");
}
