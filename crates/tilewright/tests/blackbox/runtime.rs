//! `runtime`: library functions from the command line.

use serde_json::json;

use crate::harness::tilewright;

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
