//! Library functions over HTTP.

use serde_json::json;

use crate::client::{ask, get, options, post, receive, send, shared, start};

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
fn every_function_that_is_listed_can_be_called() {
    let list = get("/v1/libraries").good();
    let mut functions = 0;
    for module in list["modules"].as_array().unwrap() {
        for function in module["functions"].as_array().unwrap() {
            let reply =
                post(EXECUTE, &json!({"module": module["name"], "function": function["name"], "args": {}}));
            // Without arguments: a result where there are no parameters, else a word about the first one that is needed.
            match function["params"].as_array().unwrap().first() {
                None => assert!(reply.good()["result"].is_boolean(), "{function}"),
                Some(first) => {
                    assert_eq!(reply.refused(400), "invalid_arguments", "{function}");
                    assert_eq!(reply.json()["error"]["param"], first["name"]);
                }
            }
            functions += 1;
        }
    }
    assert_eq!(functions, 48);
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

#[test]
fn calls_that_come_together_wait_for_their_turn() {
    let body = json!({"module": "attnk.rope", "function": "rope_table", "args": [1 << 12, 64, 10_000]});
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| post(EXECUTE, &body))).collect();
        for call in calls {
            assert!(call.join().unwrap().good()["result"]["cos"].is_array());
        }
    });
}

#[test]
fn a_call_beyond_those_that_may_wait_is_refused() {
    let mut few = options();
    few.scheduler.queue = 0;
    let server = start(few);
    let call = |args: &str| {
        let body = format!(r#"{{"module": "attnk.rope", "function": "rope_table", "args": {args}}}"#);
        ask(server.address(), "POST", EXECUTE, &body)
    };
    // Of two that come while the place is taken, one is refused, whichever it is; a long call takes it for a while.
    let refused = (0..50).find_map(|_| {
        std::thread::scope(|scope| {
            let long = scope.spawn(|| call("[4096, 128, 10000]"));
            let mut refused = None;
            while refused.is_none() && !long.is_finished() {
                refused = Some(call("[1, 2, 10000]")).filter(|reply| reply.status != 200);
            }
            let long = long.join().unwrap();
            refused.or_else(|| Some(long).filter(|reply| reply.status != 200))
        })
    });
    assert_eq!(refused.expect("somebody is refused").refused(429), "queue_full");
}

#[test]
fn a_name_of_a_request_that_no_header_could_carry_is_refused() {
    let call = |id: &str| {
        let body = json!({"module": "metaldispatch.contract", "function": "metaldispatch_dispatch_budget", "args": 28, "request_id": id});
        post(EXECUTE, &body)
    };
    for wrong in ["a\r\nSet-Cookie: x=y", "a b", "", "ä", &"x".repeat(129)] {
        let reply = call(wrong);
        assert_eq!(reply.refused(400), "request_invalid", "{wrong:?}");
        assert_eq!(reply.json()["error"]["param"], "request_id");
        assert!(reply.json()["request_id"].as_str().unwrap().starts_with("req-"), "{reply:?}");
        assert!(!reply.head.to_lowercase().contains("set-cookie"), "{}", reply.head);
    }
    assert_eq!(call(&"x".repeat(128)).good()["request_id"], "x".repeat(128));
    let named = |id: &str| {
        let body = json!({"module": "none", "function": "f"}).to_string();
        receive(send(shared(), "POST", EXECUTE, &format!("X-Request-Id: {id}\r\n"), &body))
    };
    assert_eq!(named("theirs").json()["request_id"], "theirs");
    assert_eq!(named(&"x".repeat(129)).refused(400), "request_invalid");
}
