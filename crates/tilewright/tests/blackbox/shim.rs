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
    assert_eq!(report["device"]["kind"], "shim");
    if !cfg!(target_os = "macos") {
        let refusal = tilewright(&["selftest", "--json"]).refusal();
        assert_eq!(refusal["code"], "metaldispatch_shader_toolchain_absent");
    }
    let refusal = tilewright(&["selftest", "--device", "cpu", "--json"]).refusal();
    assert_eq!(refusal["code"], "device_option_invalid");
}
