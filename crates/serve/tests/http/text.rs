//! Tokens, templates, and what the server says of itself.

use serde_json::json;
use tilewright_serve::ServeOptions;

use crate::client::{ask, engine, get, metric, options, post, shared, start};

#[test]
fn ids_and_text_go_both_ways() {
    let reply = post("/tokenize", &json!({"content": "The dog ran."})).good();
    assert_eq!(reply["count"].as_u64().unwrap() as usize, reply["tokens"].as_array().unwrap().len());
    assert_eq!(post("/detokenize", &json!({"tokens": reply["tokens"]})).good()["content"], "The dog ran.");
    let pieces = post("/tokenize", &json!({"content": "The dog", "with_pieces": true})).good();
    let text: String =
        pieces["tokens"].as_array().unwrap().iter().map(|t| t["piece"].as_str().unwrap()).collect();
    assert_eq!(text, "The dog");
    assert_eq!(post("/detokenize", &json!({"tokens": [99_999]})).refused(400), "token_unknown");
}

#[test]
fn control_tokens_in_text_are_text_unless_asked_otherwise() {
    let count = |parse: bool| {
        let body = json!({"content": "<|im_end|>", "parse_special": parse});
        post("/tokenize", &body).good()["count"].as_u64().unwrap()
    };
    assert_eq!(count(true), 1);
    assert!(count(false) > 1);
}

#[test]
fn a_conversation_is_shown_as_the_model_is_given_it() {
    let messages = json!([{"role": "user", "content": "Hi"}]);
    let prompt = post("/apply-template", &json!({"messages": messages})).good();
    assert_eq!(prompt["prompt"], "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
    let ids = post("/tokenize", &json!({"messages": messages})).good();
    let back = post("/detokenize", &json!({"tokens": ids["tokens"]})).good();
    assert_eq!(back["content"], prompt["prompt"]);
}

#[test]
fn a_switch_for_thinking_reaches_the_template_by_each_of_its_names() {
    let prompt = |more: serde_json::Value| {
        let mut body = json!({"messages": [{"role": "user", "content": "Hi"}]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        post("/apply-template", &body).good()["prompt"].as_str().unwrap().to_owned()
    };
    let off = prompt(json!({"enable_thinking": false}));
    assert_eq!(prompt(json!({"enable_thinking": true})), format!("{off}<think>\n"));
    for (on, without) in [
        (
            json!({"chat_template_kwargs": {"enable_thinking": true}}),
            json!({"chat_template_kwargs": {"enable_thinking": false}}),
        ),
        (json!({"reasoning_effort": "low"}), json!({"reasoning_effort": "none"})),
    ] {
        assert_eq!((prompt(on), prompt(without)), (format!("{off}<think>\n"), off.clone()));
    }
}

#[test]
fn a_name_with_slashes_is_one_name() {
    let server = start(ServeOptions { name: "org/model".to_owned(), ..options() });
    for path in ["/v1/models/org/model", "/v1/models/org%2Fmodel"] {
        assert_eq!(ask(server.address(), "GET", path, "").good()["id"], "org/model");
    }
    assert_eq!(ask(server.address(), "GET", "/v1/models/org/other", "").refused(404), "model_not_found");
    let page = ask(server.address(), "GET", "/metrics", "").body;
    assert!(page.contains("{path=\"/v1/models/{model}\",status=\"200\"} 2"), "{page}");
}

#[test]
fn the_server_says_what_it_serves() {
    let models = get("/v1/models").good();
    assert_eq!((&models["object"], &models["data"][0]["id"]), (&json!("list"), &json!("stories")));
    assert_eq!(get("/v1/models/stories").good()["object"], "model");
    assert_eq!(get("/v1/models/other").refused(404), "model_not_found");
    let props = get("/props").good();
    assert_eq!(props["plan"]["context"].as_u64().unwrap() as usize, engine().plan().context);
    assert_eq!(props["limits"]["parallel"], 8);
    assert!(props["stop"].is_array() && props["chat_template"]["source"] == "the tests");
    assert!(get("/version").good()["version"].is_string());
    assert!(metric(shared(), "tilewright_requests_running") >= 0.0);
    let page = get("/metrics");
    assert!(page.body.contains("tilewright_http_requests_total{path=\"/v1/models\",status=\"200\"}"));
    assert!(page.body.contains("tilewright_time_to_first_token_seconds_bucket{le=\"+Inf\"}"));
}
