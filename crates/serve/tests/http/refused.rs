//! Requests that are not honoured: the status, OpenAI's shape, the refusal's name.

use serde_json::{Value, json};
use tilewright_engine::{Cache, Engine, OpenOptions, Source};
use tilewright_serve::{ServeOptions, Server};

use crate::client::{ask, chat, get, options, post, shared, start};

#[test]
fn no_field_is_ignored_silently() {
    let reply = chat("x", json!({"temprature": 1, "functions": []}));
    assert_eq!(reply.refused(400), "request_invalid");
    let findings = reply.json()["error"]["findings"].clone();
    let mut named: Vec<_> =
        findings.as_array().unwrap().iter().map(|f| f["what"].as_str().unwrap()).collect();
    named.sort_unstable();
    assert_eq!(named, ["functions", "temprature"]);
}

#[test]
fn fields_that_are_said_to_be_harmless_change_nothing() {
    let plain = chat("x", json!({"stream": true})).chunks();
    let content = |chunks: &[Value]| -> String {
        chunks.iter().filter_map(|c| c["choices"][0]["delta"]["content"].as_str()).collect()
    };
    let more = json!({
        "user": "me", "metadata": {"a": "b"}, "store": false, "service_tier": "auto", "safety_identifier": "s",
        "prompt_cache_key": "k", "prompt_cache_retention": "24h", "modalities": ["text"], "top_k": null,
        "stream": true, "stream_options": {"include_obfuscation": true},
        "messages": [{"role": "user", "content": "x", "refusal": null, "annotations": [], "audio": null,
            "function_call": null, "tool_calls": []}],
    });
    assert_eq!(content(&chat("x", more).chunks()), content(&plain));
}

#[test]
fn numbers_out_of_range_are_refused_by_name() {
    for (more, param) in [
        (json!({"temperature": -1}), "temperature"),
        (json!({"temperature": "hot"}), "temperature"),
        (json!({"top_p": 0}), "top_p"),
        (json!({"top_p": 1.5}), "top_p"),
        (json!({"presence_penalty": 3}), "presence_penalty"),
        (json!({"n": 0}), "n"),
        (json!({"max_tokens": 0}), "max_tokens"),
        (json!({"max_tokens": -5}), "max_tokens"),
        (json!({"stop": [1]}), "stop"),
        (json!({"stop": ""}), "stop"),
        (json!({"logit_bias": {"a": 1}}), "logit_bias"),
        (json!({"modalities": ["audio"]}), "modalities"),
        (json!({"response_format": {"type": "xml"}}), "response_format.type"),
        (json!({"seed": 0.5}), "seed"),
        (json!({"max_completion_tokens": 0}), "max_completion_tokens"),
        (json!({"stream_options": {}}), "stream_options"),
        (json!({"stream": true, "stream_options": {"usage": true}}), "stream_options.usage"),
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {"name": "a b", "schema": {}}}}),
            "response_format.json_schema.name",
        ),
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {"strict": 1, "schema": {}}}}),
            "response_format.json_schema.strict",
        ),
    ] {
        let reply = chat("x", more.clone());
        reply.refused(400);
        if !param.is_empty() {
            assert_eq!(reply.json()["error"]["param"], param, "{more}");
        }
    }
    assert_eq!(chat("x", json!({"messages": []})).refused(400), "message_invalid");
    let raw = r#"{"messages": [{"role": "user", "content": "x"}], "temperature": 1e999}"#;
    assert_eq!(ask(shared(), "POST", "/v1/chat/completions", raw).refused(400), "request_invalid");
}

#[test]
fn a_long_prompt_is_refused_with_its_length_and_never_cut() {
    let reply = chat(&"word ".repeat(3000), json!({}));
    assert_eq!(reply.refused(400), "context_full");
    assert!(reply.json()["error"]["message"].as_str().unwrap().contains("the context"));
}

#[test]
fn every_path_answers_errors_in_openai_s_shape() {
    assert_eq!(ask(shared(), "POST", "/v1/chat/completions", "{").refused(400), "request_invalid");
    assert_eq!(ask(shared(), "POST", "/v1/chat/completions", "[]").refused(400), "request_invalid");
    assert_eq!(get("/nowhere").refused(404), "endpoint_unsupported");
    assert_eq!(get("/v1/chat/completions").refused(405), "endpoint_unsupported");
    assert_eq!(post("/v1/responses", &json!({"input": "x"})).refused(501), "endpoint_unsupported");
    assert_eq!(chat("x", json!({"model": "gpt-4"})).refused(404), "model_not_found");
    assert_eq!(
        chat("x", json!({"messages": [{"role": "bard", "content": "x"}]})).refused(400),
        "message_invalid"
    );
}

#[test]
fn a_body_larger_than_the_limit_is_refused() {
    let server = start(tilewright_serve::ServeOptions { body_limit: 1000, ..options() });
    let body = format!("{{\"prompt\": \"{}\"}}", "x".repeat(2000));
    assert_eq!(ask(server.address(), "POST", "/v1/completions", &body).refused(413), "body_too_large");
}

/// Ids could be continued, but there is nothing to write the reply with: an empty text would look like one.
#[test]
fn text_from_a_model_without_a_tokenizer_is_refused() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../model/tests/fixtures/qwen3-tiny");
    let model = OpenOptions { threads: Some(1), cache: Cache::Off, ..OpenOptions::default() };
    let engine = Engine::open(Source::Path(folder.into()), &model, &mut |_| ()).unwrap();
    let server = Server::start("127.0.0.1:0".parse().unwrap(), ServeOptions::default()).unwrap();
    server.ready(&engine).unwrap();
    for prompt in [json!("a"), json!([1, 2, 3])] {
        let body = json!({"prompt": prompt, "max_tokens": 4}).to_string();
        let reply = ask(server.address(), "POST", "/v1/completions", &body);
        assert_eq!(reply.refused(400), "tokenizer_invalid", "{prompt}");
    }
    let body = json!({"messages": [{"role": "user", "content": "a"}]}).to_string();
    let reply = ask(server.address(), "POST", "/v1/chat/completions", &body);
    assert_eq!(reply.refused(400), "tokenizer_invalid");
}
