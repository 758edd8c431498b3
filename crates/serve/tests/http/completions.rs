//! Plain completions: prompts of every form.

use serde_json::{Value, json};

use crate::client::{Reply, engine, post};

fn complete(prompt: Value, more: Value) -> Reply {
    let mut body = json!({"model": "stories", "prompt": prompt, "temperature": 0});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    post("/v1/completions", &body)
}

fn texts(reply: &Value) -> Vec<String> {
    reply["choices"].as_array().unwrap().iter().map(|c| c["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn prompts_may_be_texts_ids_or_lists_of_either() {
    let ids = engine().encode("Once upon a time").unwrap();
    let one = complete(json!("Once upon a time"), json!({})).good();
    assert_eq!(one["object"], "text_completion");
    assert_eq!(one["usage"]["completion_tokens"], 16, "the default");
    assert_eq!(texts(&complete(json!(ids), json!({})).good()), texts(&one));
    let two = complete(json!(["Once upon a time", "The dog"]), json!({"n": 2})).good();
    assert_eq!(two["choices"].as_array().unwrap().len(), 4);
    assert_eq!(texts(&two)[0], texts(&one)[0]);
    let lists = complete(json!([ids, ids]), json!({})).good();
    assert_eq!(texts(&lists), [texts(&one), texts(&one)].concat());
    assert_eq!(complete(json!([1, "a"]), json!({})).refused(400), "request_invalid");
    assert_eq!(complete(json!([[99_999]]), json!({})).refused(400), "request_invalid");
}

#[test]
fn an_echo_comes_before_the_reply_streamed_or_not() {
    let whole = complete(json!("Once"), json!({"echo": true})).good();
    assert!(texts(&whole)[0].starts_with("Once"));
    let chunks = complete(json!("Once"), json!({"echo": true, "stream": true})).chunks();
    let streamed: String = chunks.iter().map(|c| c["choices"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(streamed, texts(&whole)[0]);
}

#[test]
fn logprobs_are_parallel_lists() {
    let reply = complete(json!("Once"), json!({"logprobs": 2, "max_tokens": 4, "ignore_eos": true})).good();
    let logprobs = &reply["choices"][0]["logprobs"];
    for key in ["tokens", "token_logprobs", "top_logprobs", "text_offset"] {
        assert_eq!(logprobs[key].as_array().unwrap().len(), 4, "{key}");
    }
    let tokens: String = logprobs["tokens"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
    assert_eq!(tokens, texts(&reply)[0]);
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    for more in [
        json!({"suffix": "end"}),
        json!({"best_of": 3}),
        json!({"echo": true, "logprobs": 1}),
        json!({"n": 33}),
        json!({"n": 0}),
    ] {
        assert_eq!(complete(json!("Once"), more.clone()).refused(400), "request_invalid", "{more}");
    }
    assert_eq!(post("/v1/completions", &json!({})).refused(400), "request_invalid");
}
