//! The device `shim`: the kernel texts of the Apple GPU behind the command line.
#![allow(clippy::print_stderr, reason = "says what was skipped")]

use crate::harness::{Outcome, tilewright};

/// Runs with `--device shim`, its texts kept with those of other tests; nothing where there is no compiler.
fn shim(arguments: &[&str]) -> Option<Outcome> {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");
    let folder = if arguments[0] == "selftest" { "--texts" } else { "--cache" };
    let outcome = tilewright(&[arguments, &["--device", "shim", folder, kept, "--json"]].concat());
    let absent = outcome.stdout.contains("metaldispatch_shader_toolchain_absent");
    if absent {
        eprintln!("skipped: {}", outcome.stdout);
    }
    (!absent).then_some(outcome)
}

#[test]
fn the_shim_writes_what_the_processor_writes() {
    let flags = ["run", "-p", "Once upon a time", "-n", "8", "--temp", "0", "--weights", "f32", "-c", "512"];
    let Some(outcome) = shim(&[&flags[..], &["--attention", "off", "--gemm", "vecload4"]].concat()) else {
        return;
    };
    let got = outcome.expect_code(0).json();
    let expected = tilewright(&[&flags[..], &["--device", "cpu", "--json"]].concat()).expect_code(0).json();
    assert_eq!(got["text"], expected["text"], "{got}");
    let plan = &got["plan"];
    assert_eq!((&plan["device"], &plan["weights"]), (&"shim".into(), &"f32".into()));
    assert_eq!(plan["execution"]["attention"], "off");
    assert_eq!(plan["execution"]["gemm"]["swiglu"], "vecload4");
}

#[test]
fn inspect_shows_the_plan_without_running_anything() {
    let Some(outcome) = shim(&["inspect"]) else { return };
    let plan = &outcome.expect_code(0).json()["plan"];
    assert_eq!(plan["execution"]["attention"], "grouped_no_mirror");
    assert_eq!(plan["execution"]["kv_contract"], "packed_f16");
    assert_eq!((&plan["weights"], &plan["kv"]), (&"int8".into(), &"f16".into()));
}

#[test]
fn what_a_device_does_not_have_is_refused() {
    let Some(outcome) = shim(&["run", "-p", "a", "--threads", "2"]) else { return };
    assert_eq!(outcome.refusal()["code"], "device_option_invalid");
    let outcome = tilewright(&["run", "-p", "a", "--device", "cpu", "--attention", "off", "--json"]);
    assert_eq!(outcome.refusal()["code"], "device_option_invalid");
}

#[test]
fn selftest_compares_kernels_and_says_so() {
    let Some(outcome) = shim(&["selftest", "--only", "decode_norm"]) else { return };
    let report = outcome.expect_code(0).json();
    assert_eq!(report["passed"], true, "{report}");
    assert!(
        report["exact"].as_u64().unwrap() >= 5 && report["near"].as_array().unwrap().is_empty(),
        "{report}"
    );
    assert!(report["skipped"].as_array().unwrap().is_empty(), "the shim has everything: {report}");
    assert_eq!(report["device"]["kind"], "shim");
    if !cfg!(target_os = "macos") {
        let refusal = tilewright(&["selftest", "--json"]).refusal();
        assert_eq!(refusal["code"], "metaldispatch_shader_toolchain_absent");
    }
    let refusal = tilewright(&["selftest", "--device", "cpu", "--json"]).refusal();
    assert_eq!(refusal["code"], "device_option_invalid");
}

/// F79: both byte counts, what of the model it is, and that it was compared, from a run to its page.
#[test]
fn a_report_of_a_device_that_packs_says_what_and_that_it_was_compared() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    let path = place("report.json");
    for (weights, model, rounded) in [
        ("bf16", "qwen3-tiny", Some(false)),
        ("bf16", "qwen3-untied-mqa-f32", Some(true)),
        ("int8", "qwen3-tiny", None),
    ] {
        let checkpoint = format!("{}/../model/tests/fixtures/{model}", env!("CARGO_MANIFEST_DIR"));
        let bench = ["bench", "end-to-end", "-m", &checkpoint, "--weights", weights, "--save", &path];
        let lengths = ["--prompt-lengths", "6", "--output-lengths", "3", "--trials", "3", "--warmups", "1"];
        let Some(outcome) = shim(&[&bench[..], &lengths, &["--no-ceilings"]].concat()) else { return };
        let report = outcome.expect_code(0).json();
        let times = report["method"]["includes"].to_string();
        assert_eq!(times.contains("rebuilding weights from their pairs"), rounded.is_some(), "{times}");
        let table = std::fs::read_to_string(place("report.md")).unwrap();
        assert_eq!(table.contains("Held packed: "), rounded.is_some(), "{table}");
        if let Some(rounded) = rounded {
            let (packing, facts) = (&report["packing"], &report["model"]);
            let fact = |name: &str| facts[name].as_u64().unwrap();
            let count = |name: &str| packing[name].as_u64().unwrap();
            let (heads, kv_heads) = (fact("heads") * fact("head_dim"), fact("kv_heads") * fact("head_dim"));
            let layer = fact("hidden") * (2 * heads + 2 * kv_heads + 3 * fact("intermediate"));
            let head = fact("hidden") * fact("vocab");
            let vocabulary = if facts["tied"] == true { head } else { 2 * head };
            let elements = vocabulary + fact("layers") * layer;
            assert_eq!(packing["scopes"]["vocabulary"], vocabulary, "{packing}");
            assert_eq!((count("elements"), count("verified")), (elements, elements), "{packing}");
            assert_eq!((count("unpacked_bytes"), count("packed_bytes")), (4 * elements, 2 * elements));
            assert_eq!(count("rounded") > 0, rounded, "{packing}");
            let note = report["arms"][0]["remarks"].to_string();
            assert!(note.contains(&format!("{elements} weights held as pairs")), "{note}");
            let page = std::fs::read_to_string(place("report.html")).unwrap();
            assert!(page.contains("held packed") && table.contains("compared bit by bit"), "{table}");
        } else {
            assert!(report["packing"].is_null(), "{report}");
        }
        tilewright(&["bench", "audit", &path]).expect_code(0);
        for file in ["report.json", "report.html", "report.md"] {
            std::fs::remove_file(place(file)).unwrap();
        }
    }
}
