//! Library functions over HTTP.

use serde_json::json;

use crate::client::{ask, get, post, shared};

const EXECUTE: &str = "/v1/libraries/execute";

#[test]
fn modules_are_listed_by_page_and_by_name() {
    let all = get("/v1/libraries").good();
    assert_eq!((&all["total"], &all["count"], &all["pages"]), (&json!(8), &json!(8), &json!(1)));
    assert_eq!(all["modules"][0]["name"], "metaldispatch.contract");
    assert_eq!(all["modules"][0]["functions"][0]["params"][0]["type"], "Int");
    let page = get("/v1/libraries?limit=3&page=2").good();
    assert_eq!((&page["count"], &page["pages"], &page["page"]), (&json!(3), &json!(3), &json!(2)));
    assert_eq!(get("/v1/libraries?q=KV_contract").good()["total"], 1);
    assert_eq!(get("/v1/libraries?q=none").good()["total"], 0);
    for wrong in ["limit=0", "page=x", "limit=201", "colour=red"] {
        assert_eq!(get(&format!("/v1/libraries?{wrong}")).refused(400), "request_invalid");
    }
    let health = get("/v1/libraries/health").good();
    assert_eq!((&health["status"], &health["module_count"]), (&json!("ok"), &json!(8)));
}

#[test]
fn a_function_is_called_and_the_request_keeps_its_name() {
    let body = json!({
        "module": "metaldispatch.contract",
        "function": "metaldispatch_dispatch_budget",
        "args": [28],
        "request_id": "mine",
    });
    let reply = post(EXECUTE, &body);
    assert_eq!(reply.good()["result"], 229);
    assert_eq!(reply.json()["request_id"], "mine");
    assert!(reply.head.to_lowercase().contains("x-request-id: mine"), "{}", reply.head);
    assert!(reply.json()["latency_ms"].is_number());
}

#[test]
fn what_cannot_be_called_is_refused_with_the_request_s_name() {
    let call = |module: &str, function: &str, args: serde_json::Value| {
        post(EXECUTE, &json!({"module": module, "function": function, "args": args, "request_id": "r"}))
    };
    let contract = "metaldispatch.contract";
    assert_eq!(call("none", "none", json!(null)).refused(404), "module_not_registered");
    assert_eq!(call(contract, "none", json!(null)).refused(404), "function_not_registered");
    let wrong = call(contract, "metaldispatch_status_name", json!("x"));
    assert_eq!(wrong.refused(400), "invalid_arguments");
    assert_eq!(wrong.json()["request_id"], "r");
    let decode = json!(["/", 4]);
    let closed = call("metaldispatch.qwen3_decode", "qwen3_i8_allsimd7_decode_flat", decode);
    assert_eq!(closed.refused(400), "invalid_arguments");
    assert_eq!(post(EXECUTE, &json!({"module": contract})).refused(400), "request_invalid");
    assert_eq!(ask(shared(), "GET", EXECUTE, "").refused(405), "endpoint_unsupported");
}
