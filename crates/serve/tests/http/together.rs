//! A device that gives some ids a call, as a GPU does: pieces of streams hold them all, and nothing is lost or told twice.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tilewright_serve::{ServeOptions, Server};

use crate::client::{Reply, ask};
use crate::device::{Seen, Times, engine};

const TOKENS: usize = 60;

/// Asks a server over such a device; what the device saw.
fn with(work: impl FnOnce(SocketAddr)) -> Seen {
    let (engine, seen) = engine(Times::default());
    let server = Server::start("127.0.0.1:0".parse().unwrap(), ServeOptions::default()).unwrap();
    server.ready(&engine).unwrap();
    work(server.address());
    *seen.lock().unwrap()
}

fn complete(address: SocketAddr, more: Value) -> Reply {
    let mut body = json!({"prompt": [300, 301, 302], "max_tokens": TOKENS, "temperature": 0});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    ask(address, "POST", "/v1/completions", &body.to_string())
}

fn pieces(chunks: &[Value]) -> Vec<&str> {
    let texts = chunks.iter().filter_map(|chunk| chunk["choices"][0]["text"].as_str());
    texts.filter(|text| !text.is_empty()).collect()
}

#[test]
fn tokens_of_one_call_are_one_piece_and_all_are_counted() {
    let seen = with(|address| {
        let whole = complete(address, json!({})).good();
        let usage = json!({"stream": true, "stream_options": {"include_usage": true}});
        let chunks = complete(address, usage).chunks();
        let pieces = pieces(&chunks);
        assert_eq!(pieces.concat(), whole["choices"][0]["text"].as_str().unwrap());
        // The first token comes from the prompt, then eight a call; a piece holds those of one call or of some.
        assert!((2..=1 + TOKENS.div_ceil(8)).contains(&pieces.len()), "{pieces:?}");
        let usage = &chunks.last().unwrap()["usage"];
        assert_eq!(usage["completion_tokens"], TOKENS);
        let ends = chunks.iter().filter(|chunk| chunk["choices"][0]["finish_reason"].is_string()).count();
        assert_eq!(ends, 1);
    });
    assert_eq!((seen.by_logits, seen.steps as usize), (0, 2 * (TOKENS - 1)), "the device chose");
}

#[test]
fn a_stop_string_within_a_call_ends_a_stream_before_it() {
    with(|address| {
        let whole = complete(address, json!({})).good();
        let text = whole["choices"][0]["text"].as_str().unwrap().to_owned();
        for at in 20..28 {
            let stop: String = text.chars().skip(at).take(5).collect();
            let cut = json!({"stop": stop, "stream": true, "stream_options": {"include_usage": true}});
            let chunks = complete(address, cut).chunks();
            assert_eq!(pieces(&chunks).concat(), text[..text.find(&stop).unwrap()], "{stop:?}");
            let alone = complete(address, json!({"stop": stop})).good();
            assert_eq!(chunks.last().unwrap()["usage"], alone["usage"], "{stop:?}");
        }
    });
}

#[test]
fn every_token_of_a_piece_has_its_log_probability() {
    let seen = with(|address| {
        let whole = complete(address, json!({"logprobs": 1})).good();
        let chunks = complete(address, json!({"logprobs": 1, "stream": true})).chunks();
        let tokens = |choice: &Value| choice["logprobs"]["tokens"].as_array().cloned().unwrap_or_default();
        let streamed: Vec<Value> = chunks.iter().flat_map(|chunk| tokens(&chunk["choices"][0])).collect();
        assert_eq!((streamed.len(), &streamed), (TOKENS, &tokens(&whole["choices"][0])));
        for chunk in &chunks {
            let choice = &chunk["choices"][0];
            let spelled: String = tokens(choice).iter().filter_map(Value::as_str).collect();
            assert_eq!(spelled, choice["text"].as_str().unwrap(), "{choice}");
        }
    });
    assert_eq!(seen.by_logits, seen.steps, "logits were asked for");
}
