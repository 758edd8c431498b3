//! `bench`: a report that passes its audit, an altered one that does not, and what is refused.

use std::fs;

use serde_json::Value;

use crate::harness::tilewright;

#[test]
fn a_report_is_written_once_passes_its_audit_and_fails_it_when_a_trial_is_altered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let place = path.display().to_string();
    let line = [
        "bench",
        "end-to-end",
        "--prompt-lengths",
        "6",
        "--output-lengths",
        "3",
        "--trials",
        "3",
        "--warmups",
        "1",
        "--no-ceilings",
        "-t",
        "2",
        "--compare",
        "candle=/no/such/program",
        "--json",
        "--save",
        &place,
    ];
    let object = tilewright(&line).expect_code(0).json();
    assert_eq!(object["model"]["name"], "stories-qwen3");
    assert_eq!(object["workloads"][0]["name"], "6/3");
    assert_eq!(object["absent"][0]["name"], "candle");
    let trials = object["outcome"]["passed"]["measured"][0]["trials"].as_array().unwrap().len();
    assert_eq!(trials, 3 * 2, "ours and its control, three rounds");
    assert_eq!(serde_json::from_str::<Value>(&fs::read_to_string(&path).unwrap()).unwrap(), object);
    assert!(folder.path().join("report.html").is_file() && folder.path().join("report.md").is_file());
    let refusal = tilewright(&line).refusal();
    assert_eq!(refusal["code"], "output_exists");
    assert!(refusal["remedy"].as_str().unwrap().ends_with("or remove what is there."), "{refusal}");

    let sound = tilewright(&["bench", "audit", &place]).expect_code(0);
    assert!(sound.stdout.contains("sound"), "{}", sound.stdout);
    let mut altered = object;
    let ns = &mut altered["outcome"]["passed"]["measured"][0]["trials"][0]["prompt_ns"];
    *ns = (ns.as_u64().unwrap() / 2).into();
    fs::write(&path, altered.to_string()).unwrap();
    let refusal = tilewright(&["bench", "audit", &place, "--json"]).refusal();
    assert_eq!(refusal["code"], "report_invalid");
    assert!(refusal["findings"].to_string().contains("do not follow from the trials"), "{refusal}");
}

#[test]
fn lengths_that_cannot_be_measured_are_refused() {
    let none = tilewright(&["bench", "-p", "0", "-n", "0", "--json"]).refusal();
    assert_eq!(none["code"], "request_invalid");
    let long = tilewright(&["bench", "-p", "2000", "-n", "0", "--json"]).refusal();
    assert_eq!(long["code"], "device_option_invalid");
    let short = tilewright(&["bench", "-p", "64", "-c", "32", "--json"]).refusal();
    assert_eq!(short["code"], "context_full");
    for flags in [
        &["end-to-end", "--prompt-lengths", "0,8"][..],
        &["end-to-end", "--output-lengths", "0"],
        &["batch", "--sizes", "0,2"],
        &["batch", "--begin", "0"],
        &["batch", "--steps", "0"],
        &["ceilings", "-t", "100000"],
        &["kernels", "-t", "0"],
    ] {
        let outcome = tilewright(&[&["bench"], flags].concat()).expect_code(2);
        assert!(
            outcome.stderr.contains(flags[1]) || outcome.stderr.contains("--threads"),
            "{}",
            outcome.stderr
        );
    }
    let twice = tilewright(&["bench", "-p", "8,8", "-n", "0", "--no-ceilings", "--json"]).refusal();
    assert_eq!(twice["code"], "request_invalid");
    assert!(twice["findings"].to_string().contains("pp8 again"), "{twice}");
    let path = ["bench", "-p", "8", "-n", "0", "--no-ceilings", "--name", "/home/someone/model", "--json"];
    assert!(tilewright(&path).refusal()["findings"].to_string().contains("a name without a path"));
    tilewright(&["bench", "--compare", "another"]).expect_code(2);
    tilewright(&["bench", "--weights", "int8", "end-to-end"]).expect_code(2);
}

#[test]
fn ceilings_of_a_device_that_has_none_or_is_not_there_are_refused_by_name() {
    for (flags, code, said) in [
        (&["--device", "metal"][..], "device_option_invalid", "cpu, cuda, cuda:N"),
        (&["--device", "shim"], "device_option_invalid", "cpu, cuda, cuda:N"),
        (&["--device", "cuda", "-t", "2"], "device_option_invalid", "none with a GPU"),
    ] {
        let refusal = tilewright(&[&["bench", "ceilings", "--json"], flags].concat()).refusal();
        assert_eq!(refusal["code"], code, "{flags:?}: {refusal}");
        assert!(refusal["findings"].to_string().contains(said), "{flags:?}: {refusal}");
    }
    // No machine has so many, and no other device is measured in its place.
    let refusal = tilewright(&["bench", "ceilings", "--device", "cuda:4096", "--json"]).refusal();
    let code = refusal["code"].as_str().unwrap();
    assert!(
        ["device_unavailable", "cuda_driver_missing", "cuda_driver_too_old"].contains(&code),
        "{refusal}"
    );
    tilewright(&["bench", "ceilings", "--device", "gpu"]).expect_code(2);
}

/// A report that could not be written after all the work is refused before it.
#[test]
fn a_place_for_a_report_that_cannot_be_is_refused_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    fs::write(place("there.md"), "a table").unwrap();
    // No server is asked, and no model is run.
    for (flags, name, code) in [
        (&["bench", "--save"][..], "report.md", "request_invalid"),
        (&["bench", "--save"], "report.html", "request_invalid"),
        (&["bench", "--save"], "report", "request_invalid"),
        (&["bench", "--save"], "no/such/folder.json", "file_unwritable"),
        (&["bench", "--save"], "there.json", "output_exists"),
        (&["bench", "serve", "--load-report"], "there.md", "output_exists"),
        (&["bench", "serve", "--load-report"], "no/such/folder.json", "file_unwritable"),
    ] {
        let refusal = tilewright(&[flags, &[&place(name), "--json"]].concat()).refusal();
        assert_eq!(refusal["code"], code, "{flags:?} {name}: {refusal}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left");
}

#[test]
fn a_load_that_cannot_be_sent_is_a_usage_error_and_a_server_that_is_not_there_is_named() {
    for (flags, said) in [
        (&["--prompt-tokens", "0"][..], "1..=1000000"),
        (&["--output-tokens", "1000001"], "1..=1000000"),
        (&["--vocab", "0"], "1..=1000000"),
        (&["--rate", "0"], "0.001"),
        (&["--rate", "inf"], "0.001"),
        (&["--rounds", "2"], "--peer"),
        (&["--peer", "http://127.0.0.1:8081"], "HOST:PORT"),
        (&["--address", "localhost"], "HOST:PORT"),
        (&["--address", "localhost:0"], "HOST:PORT"),
    ] {
        let outcome = tilewright(&[&["bench", "serve"], flags].concat()).expect_code(2);
        assert!(outcome.stderr.contains(said), "{flags:?}: {}", outcome.stderr);
    }
    let refusal = tilewright(&["bench", "serve", "--address", "127.0.0.1:1", "--json"]).refusal();
    assert_eq!((&refusal["code"], &refusal["place"]), (&"server_unmeasurable".into(), &"127.0.0.1:1".into()));
}
