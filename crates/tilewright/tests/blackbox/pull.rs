//! `pull` from a hub on loopback, and the engine on what came.

use std::fs;
use std::path::Path;

use crate::harness::{Outcome, program, root, tilewright_with};

#[path = "../../../pull/src/tests/server.rs"]
mod server;

use server::{Fate, Server, sha256};

const FIXTURE: &str = "crates/model/tests/fixtures/qwen3-tiny";

/// The program with this hub and this cache.
fn with(server: &Server, home: &Path, args: &[&str]) -> Outcome {
    let (endpoint, home) = (server.address(), home.to_str().unwrap());
    tilewright_with(&[("HF_ENDPOINT", endpoint), ("HF_HOME", home), ("HF_TOKEN", "hf_x")], args)
}

#[test]
fn a_model_is_pulled_by_its_name_and_run_by_it() {
    let (server, home) = (Server::start(), tempfile::tempdir().unwrap());
    for name in ["config.json", "model.safetensors"] {
        let content = fs::read(root().join(FIXTURE).join(name)).unwrap();
        server.file(name, &sha256(&content), &content);
    }
    server.fates("model.safetensors", &[Fate::Cut(20_000)]);
    let line = |model| ["run", "-m", model, "--ids", "1,2,3", "--temp", "0", "-n", "8", "--ignore-eos"];
    let pulled = with(&server, home.path(), &["pull", "org/name", "--json"]).expect_code(0).json();
    assert_eq!(pulled["files"].as_array().unwrap().len(), 2, "{pulled}");
    let here = root().join(FIXTURE);
    let expected = tilewright_with(&[], &line(here.to_str().unwrap())).expect_code(0).stdout;
    assert_eq!(with(&server, home.path(), &line("org/name")).expect_code(0).stdout, expected);
    let asked = server.asked();
    assert!(asked.iter().all(|asked| asked.headers["authorization"] == "Bearer hf_x"), "{asked:?}");
    // Once for the list, twice for what is said of files, once for one and twice for the other; and never by `run`.
    assert_eq!(asked.len(), 6, "{asked:?}");
}

#[test]
fn refusals_and_usage_of_pull() {
    let (server, home) = (Server::start(), tempfile::tempdir().unwrap());
    server.fates("main", &[Fate::Status(404, "")]);
    let refusal = with(&server, home.path(), &["pull", "org/name", "--json"]).refusal();
    assert_eq!(refusal["code"], "hub_repository_not_found");
    with(&server, home.path(), &["pull", "no-name"]).expect_code(2);
}

#[test]
fn the_remedy_for_a_hub_that_is_switched_off_is_to_switch_it_on() {
    let home = tempfile::tempdir().unwrap();
    let set = [("HF_HUB_OFFLINE", "1"), ("HF_HOME", home.path().to_str().unwrap())];
    let refusal = tilewright_with(&set, &["pull", "org/name", "--json"]).refusal();
    assert_eq!(refusal["findings"][0]["what"], "HF_HUB_OFFLINE");
    assert_eq!(refusal["remedy"], "Unset HF_HUB_OFFLINE and run the command again.");
}

/// The largest file that may be written is smaller than what is to come: as on a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_is_refused_by_name_and_what_came_is_kept() {
    let (server, home) = (Server::start(), tempfile::tempdir().unwrap());
    let content = vec![1; 100_000];
    server.file("m.gguf", &sha256(&content), &content);
    let mut limited = crate::harness::program_after("ulimit -f 16", &home);
    limited
        .env("HF_ENDPOINT", server.address())
        .env("HF_HOME", home.path())
        .args(["pull", "org/name", "--json"]);
    let refusal = Outcome::from(limited.output().unwrap()).refusal();
    assert_eq!(refusal["code"], "file_unwritable");
    assert_eq!(refusal["findings"][0]["what"], "disk");
    let mut free = program(&home);
    free.env("HF_ENDPOINT", server.address())
        .env("HF_HOME", home.path())
        .args(["pull", "org/name", "--json"]);
    let pulled = Outcome::from(free.output().unwrap()).expect_code(0).json();
    assert!(pulled["files"][0]["received"].as_u64().unwrap() < 100_000, "{pulled}");
}
