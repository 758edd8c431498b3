//! Names of the hub, and where they are found.

use std::fs;

use super::{HubName, find_model};

#[test]
fn names_have_two_parts_and_may_have_a_file() {
    let parsed = HubName::parse("org/name-1.5_x:sub/model.Q4_0.gguf").unwrap();
    assert_eq!(parsed.repository, "org/name-1.5_x");
    assert_eq!(parsed.file.as_deref(), Some("sub/model.Q4_0.gguf"));
    for path in [
        "model", "./model", "../a/b", "/a/b", "a/b/c", "a/", "/b", "a/b:", "a/b:../c", "a/b:c//d", "C:\\x",
        "a b/c",
    ] {
        assert_eq!(HubName::parse(path), None, "{path}");
    }
}

#[test]
fn a_cached_model_is_found_by_its_revision() {
    let hub = tempfile::tempdir().unwrap();
    let folder = hub.path().join("models--org--name");
    let snapshot = folder.join("snapshots/abc123");
    let name = HubName::parse("org/name").unwrap();
    let file = HubName { file: Some("model.gguf".to_owned()), ..name.clone() };
    assert_eq!(name.find_in(hub.path()), None);
    fs::create_dir_all(&snapshot).unwrap();
    fs::create_dir_all(folder.join("refs")).unwrap();
    fs::write(folder.join("refs/main"), "abc123\n").unwrap();
    assert_eq!(name.find_in(hub.path()), Some(snapshot.clone()));
    assert_eq!(file.find_in(hub.path()), None);
    fs::write(snapshot.join("model.gguf"), "x").unwrap();
    assert_eq!(file.find_in(hub.path()), Some(snapshot.join("model.gguf")));
    fs::write(folder.join("refs/main"), "../../elsewhere").unwrap();
    assert_eq!(name.find_in(hub.path()), None);
}

#[test]
fn a_path_that_exists_is_itself() {
    let here = tempfile::tempdir().unwrap();
    assert_eq!(find_model(here.path()), here.path());
    let absent = here.path().join("org/name");
    assert_eq!(find_model(&absent), absent);
}
