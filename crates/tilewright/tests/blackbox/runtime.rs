//! `runtime`: library functions from the command line.

use serde_json::json;

use crate::harness::{stories, tilewright};

#[test]
fn modules_and_functions_are_listed_and_called() {
    let modules = tilewright(&["runtime", "modules"]).expect_code(0).stdout;
    assert!(modules.contains("metaldispatch.qwen3_prefill_decode  10 functions"), "{modules}");
    assert!(modules.contains("metaldispatch.qwen3_decode  1 function\n"), "{modules}");
    let functions = tilewright(&["runtime", "functions", "metaldispatch.contract"]).expect_code(0).stdout;
    assert!(functions.contains("metaldispatch_status_name(code: Int) -> String"), "{functions}");
    let call = |args: &str, more: &[&str]| {
        let words = [
            "runtime",
            "execute",
            "metaldispatch.contract",
            "metaldispatch_status_name",
            "--args-json",
            args,
        ];
        tilewright(&[&words[..], more].concat())
    };
    assert_eq!(call("620", &[]).expect_code(0).stdout, "\"metaldispatch_ok\"\n");
    let object = call("[620]", &["--json"]).expect_code(0).json();
    assert_eq!((&object["result"], &object["success"]), (&json!("metaldispatch_ok"), &json!(true)));
}

#[test]
fn bad_json_is_a_usage_error_and_a_refused_call_a_failure() {
    let execute = |module: &str, args: &str| {
        tilewright(&["runtime", "execute", module, "metaldispatch_status_name", "--args-json", args])
    };
    execute("metaldispatch.contract", "{").expect_code(2);
    let twice = execute("metaldispatch.contract", r#"{"code": 620, "code": 621}"#).expect_code(2);
    assert!(twice.stderr.contains("stated twice"), "{}", twice.stderr);
    let refused = execute("metaldispatch.contract", "\"x\"").expect_code(1);
    assert!(refused.stderr.contains("invalid_arguments"), "{}", refused.stderr);
    execute("none", "1").expect_code(1);
    tilewright(&["runtime", "functions", "none"]).expect_code(1);
}

#[test]
fn the_doctor_of_the_runtime_ends_in_its_verdict() {
    let outcome = tilewright(&["runtime", "doctor"]).expect_code(0);
    assert_eq!(outcome.stdout.lines().last(), Some("READY"), "{}", outcome.stdout);
    assert_eq!(tilewright(&["runtime", "doctor", "--json"]).expect_code(0).json()["ready"], true);
}

#[test]
fn a_decode_that_no_device_here_can_do_says_so_by_its_status() {
    let folder = stories();
    let execute = |device: &str| {
        let function = "qwen3_prefill_decode_flat_af_nomirror_msl_anyqwen3";
        let args = format!("[{folder:?}, 2, true, true, [1, 2, 3]]");
        let line = [
            "runtime",
            "execute",
            "metaldispatch.qwen3_prefill_decode",
            function,
            "--args-json",
            &args,
            "--device",
            device,
            "--json",
        ];
        tilewright(&line).expect_code(0).json()["result"].clone()
    };
    let cpu = execute("cpu");
    assert!(cpu["error_message"].as_str().unwrap().contains("metal or shim"), "{cpu}");
    if !cfg!(target_os = "macos") {
        assert_eq!(execute("metal")["status"], 621);
    }
}
