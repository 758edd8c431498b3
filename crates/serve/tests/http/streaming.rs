//! Streams: the chunks OpenAI sends, in their order, and clients that go away.

use std::io::Read;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{ask, chat, chat_body, engine, metric, options, send, shared, start};
use tilewright_engine::{Cancel, SchedulerOptions};
use tilewright_serve::ServeOptions;

#[test]
fn chunks_come_as_openai_sends_them() {
    let more = json!({"stream": true, "stream_options": {"include_usage": true}});
    let streamed = chat("Tell me a story", more);
    let chunks = streamed.chunks();
    let whole = chat("Tell me a story", json!({})).good();
    let first = &chunks[0];
    assert_eq!(first["object"], "chat.completion.chunk");
    assert_eq!(first["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    assert!(chunks.iter().all(|c| c["id"] == first["id"] && c["created"] == first["created"]));
    let (usage, choices) = chunks.split_last().unwrap();
    assert_eq!(
        (&usage["choices"], &usage["usage"]["completion_tokens"]),
        (&json!([]), &whole["usage"]["completion_tokens"])
    );
    assert!(choices.iter().all(|c| c["usage"] == Value::Null && c.get("usage").is_some()));
    let (last, middle) = choices.split_last().unwrap();
    assert_eq!(
        (&last["choices"][0]["delta"], &last["choices"][0]["finish_reason"]),
        (&json!({}), &whole["choices"][0]["finish_reason"])
    );
    let mut text = String::new();
    for chunk in &middle[1..] {
        assert_eq!(chunk["choices"][0]["finish_reason"], Value::Null);
        text.push_str(chunk["choices"][0]["delta"]["content"].as_str().unwrap());
    }
    assert!(middle.len() > 2, "all at once: {middle:?}");
    assert_eq!(text, whole["choices"][0]["message"]["content"].as_str().unwrap());
}

#[test]
fn without_being_asked_no_chunk_speaks_of_usage() {
    let chunks = chat("Tell", json!({"stream": true})).chunks();
    assert!(chunks.iter().all(|chunk| chunk.get("usage").is_none()));
    let options = json!({"stream_options": {"include_usage": true}});
    assert_eq!(chat("Tell", options).refused(400), "request_invalid");
}

#[test]
fn choices_are_told_apart_and_each_ends_once() {
    let more = json!({"stream": true, "n": 3, "temperature": 1.0, "seed": 1});
    let chunks = chat("Tell", more).chunks();
    for index in 0..3 {
        let mine: Vec<&Value> =
            chunks.iter().map(|c| &c["choices"][0]).filter(|c| c["index"] == index).collect();
        assert_eq!(mine[0]["delta"]["role"], "assistant");
        assert_eq!(mine.iter().filter(|c| c["finish_reason"] != Value::Null).count(), 1);
    }
}

#[test]
fn pieces_never_hold_a_part_of_a_stop_string() {
    let whole = chat("Tell", json!({"max_tokens": 30})).good();
    let text = whole["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    let stop: String = text.chars().skip(10).take(6).collect();
    let chunks = chat("Tell", json!({"max_tokens": 30, "stop": stop, "stream": true})).chunks();
    let said: String = chunks.iter().filter_map(|c| c["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(said, text[..text.find(&stop).unwrap()]);
}

#[test]
fn reasoning_has_a_field_of_its_own() {
    let more = json!({"stream": true, "enable_thinking": true, "max_tokens": 24, "ignore_eos": true});
    let chunks = chat("Think", more).chunks();
    let reasons = |c: &Value| c["choices"][0]["delta"].get("reasoning_content").is_some();
    assert!(chunks.iter().filter(|c| reasons(c)).count() > 1, "{chunks:?}");
    assert!(chunks[1..].iter().all(|c| c["choices"][0]["delta"].get("content").is_none()));
}

/// A server of its own, on which nobody else runs.
fn alone(change: impl FnOnce(&mut ServeOptions)) -> tilewright_serve::Server {
    let mut options = options();
    change(&mut options);
    start(options)
}

/// Waits until a gauge has a value.
fn wait_for(address: std::net::SocketAddr, name: &str, value: f64) {
    for _ in 0..1500 {
        if metric(address, name) == value {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{name} does not become {value}: {}", ask(address, "GET", "/metrics", "").body);
}

#[test]
fn a_client_that_goes_away_frees_its_place() {
    let server = alone(|options| options.scheduler.parallel = 1);
    let address = server.address();
    let long = chat_body("Tell", json!({"stream": true, "ignore_eos": true, "max_tokens": 400})).to_string();
    let path = "/v1/chat/completions";
    // In a stream, after its first bytes; and before anything was said at all.
    let mut stream = send(address, "POST", path, "", &long);
    stream.read_exact(&mut [0; 64]).unwrap();
    drop(stream);
    wait_for(address, "tilewright_requests_running", 0.0);
    let waiting = send(
        address,
        "POST",
        path,
        "",
        &long.replace("\"stream\":true,", "").replace(",\"stream\":true", ""),
    );
    wait_for(address, "tilewright_requests_running", 1.0);
    drop(waiting);
    wait_for(address, "tilewright_requests_running", 0.0);
    let generated = metric(address, "tilewright_completion_tokens_total");
    assert!(generated < 700.0, "{generated} tokens for clients that went away");
}

#[test]
fn a_silent_stream_says_that_it_is_alive() {
    let server = alone(|options| {
        options.keep_alive = Duration::from_millis(1);
        options.scheduler.prefill_chunk = 1;
    });
    let text = "word ".repeat(300);
    let reply = crate::client::receive(send(
        server.address(),
        "POST",
        "/v1/chat/completions",
        "",
        &chat_body(&text, json!({"stream": true})).to_string(),
    ));
    assert!(reply.body.contains(": keep-alive\n\n"), "{}", reply.body);
    reply.chunks();
}

#[test]
fn more_than_may_wait_are_refused_with_429() {
    let server = alone(|options| {
        options.scheduler = SchedulerOptions { parallel: 1, queue: 0, ..SchedulerOptions::default() };
    });
    let address = server.address();
    let long = chat_body("Tell", json!({"stream": true, "ignore_eos": true, "max_tokens": 450})).to_string();
    let mut running = send(address, "POST", "/v1/chat/completions", "", &long);
    running.read_exact(&mut [0; 16]).unwrap();
    let refused = ask(address, "POST", "/v1/chat/completions", &long);
    assert_eq!(refused.refused(429), "queue_full");
    assert!(refused.head.contains("retry-after: 1"), "{}", refused.head);
}

#[test]
fn the_end_waits_for_what_runs_and_takes_nothing_more() {
    let server = alone(|_| ());
    let address = server.address();
    let body = chat_body("Tell", json!({"stream": true, "ignore_eos": true, "max_tokens": 120})).to_string();
    let mut stream = send(address, "POST", "/v1/chat/completions", "", &body);
    let mut begun = [0; 16];
    stream.read_exact(&mut begun).unwrap();
    let cancel = Cancel::default();
    cancel.cancel();
    let (tell, told) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || server.wait(&cancel, |replies| tell.send(replies).unwrap()));
    assert_eq!(told.recv().unwrap(), 1);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("data: [DONE]\n\n"), "{rest}");
    waiting.join().unwrap().unwrap();
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn a_server_without_a_model_says_so() {
    let server = tilewright_serve::Server::start("127.0.0.1:0".parse().unwrap(), options()).unwrap();
    let address = server.address();
    for (method, path) in [("GET", "/health"), ("GET", "/v1/models"), ("POST", "/v1/chat/completions")] {
        let refused = ask(address, method, path, "{}");
        assert_eq!(refused.refused(503), "server_unavailable");
        assert!(refused.head.contains("retry-after"));
    }
    server.ready(&engine()).unwrap();
    assert_eq!(ask(address, "GET", "/health", "").good()["status"], "ok");
    let taken = tilewright_serve::Server::start(shared(), options());
    assert_eq!(taken.err().unwrap().code().name(), "address_unavailable");
}
