//! Many clients at once, some of which leave at any time: no reply is another's, no place is lost.
//!
//! Seconds here; `TILEWRIGHT_SOAK_SECONDS` makes it minutes.

use std::io::Read;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{ask, chat_body, metric, options, send, start};

const TEXTS: [&str; 6] = ["A dog", "A cat", "The sun is warm", "Rain", "My mother said", "Two birds"];

fn body(which: usize, stream: bool) -> String {
    let seed = which as u64 % 3;
    let more = json!({"seed": seed, "temperature": 0.8, "max_tokens": 8 + which % 5, "ignore_eos": true, "stream": stream});
    chat_body(TEXTS[which % TEXTS.len()], more).to_string()
}

fn content(address: SocketAddr, which: usize) -> Option<String> {
    let reply = ask(address, "POST", "/v1/chat/completions", &body(which, false));
    if reply.status == 429 {
        return None;
    }
    Some(reply.good()["choices"][0]["message"]["content"].as_str().unwrap().to_owned())
}

/// A client: asks, sometimes leaves in the middle, and compares.
fn client(address: SocketAddr, id: usize, until: Instant, expected: &[String], served: &AtomicUsize) {
    let mut state = id as u64 * 0x9E37_79B9 + 1;
    while Instant::now() < until {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let which = state as usize % expected.len();
        if state >> 32 & 3 == 0 {
            let mut stream = send(address, "POST", "/v1/chat/completions", "", &body(which, true));
            let mut some = vec![0; (state >> 40) as usize % 600];
            let _ = stream.read_exact(&mut some);
        } else if let Some(text) = content(address, which) {
            assert_eq!(text, expected[which], "client {id} got another's reply");
            served.fetch_add(1, Ordering::Relaxed);
        } else {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn clients_that_come_and_go_get_their_own_replies_and_leave_nothing_behind() {
    let seconds = std::env::var("TILEWRIGHT_SOAK_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(4);
    let server = start(options());
    let address = server.address();
    let expected: Vec<String> = (0..TEXTS.len() * 5).map(|which| content(address, which).unwrap()).collect();
    let until = Instant::now() + Duration::from_secs(seconds);
    let served = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for id in 0..64 {
            let (expected, served) = (&expected, &served);
            scope.spawn(move || client(address, id, until, expected, served));
        }
    });
    assert!(served.load(Ordering::Relaxed) > 0, "nobody was served");
    let quiet = |name: &str| {
        for _ in 0..1500 {
            if metric(address, name) == 0.0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{name} is stuck at {}", metric(address, name));
    };
    quiet("tilewright_requests_running");
    quiet("tilewright_requests_waiting");
    assert!(metric(address, "tilewright_kv_bytes") <= metric(address, "tilewright_kv_limit_bytes"));
    let models: Value = ask(address, "GET", "/v1/models", "").good();
    assert_eq!(models["data"][0]["id"], "stories");
}
