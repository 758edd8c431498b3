//! Many clients at once, some of which leave at any time: no reply is another's, no place is lost.
//!
//! Seconds here; `TILEWRIGHT_SOAK_SECONDS` makes it minutes, and what came of it is told.

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

/// What became of requests.
#[derive(Debug, Default)]
struct Counts {
    served: AtomicUsize,
    left: AtomicUsize,
    refused: AtomicUsize,
}

/// Bytes that this process holds, clients included, where the system says.
fn resident() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(pages.split(' ').nth(1)?.parse::<u64>().ok()? << 12)
}

/// A client: asks, sometimes leaves in the middle, and compares.
fn client(address: SocketAddr, id: usize, until: Instant, expected: &[String], counts: &Counts) {
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
            counts.left.fetch_add(1, Ordering::Relaxed);
        } else if let Some(text) = content(address, which) {
            assert_eq!(text, expected[which], "client {id} got another's reply");
            counts.served.fetch_add(1, Ordering::Relaxed);
        } else {
            counts.refused.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn clients_that_come_and_go_get_their_own_replies_and_leave_nothing_behind() {
    let asked: Option<u64> = std::env::var("TILEWRIGHT_SOAK_SECONDS").ok().and_then(|s| s.parse().ok());
    let half = Duration::from_secs(asked.unwrap_or(4)) / 2;
    let server = start(options());
    let address = server.address();
    let expected: Vec<String> = (0..TEXTS.len() * 5).map(|which| content(address, which).unwrap()).collect();
    let counts = Counts::default();
    let held = [0, 1].map(|_| {
        let until = Instant::now() + half;
        std::thread::scope(|scope| {
            for id in 0..64 {
                let (expected, counts) = (&expected, &counts);
                scope.spawn(move || client(address, id, until, expected, counts));
            }
        });
        resident()
    });
    assert!(counts.served.load(Ordering::Relaxed) > 0, "nobody was served");
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
    let [kv, limit] = ["tilewright_kv_bytes", "tilewright_kv_limit_bytes"].map(|name| metric(address, name));
    assert!(kv <= limit);
    if let [Some(first), Some(second)] = held {
        // Keys and values that are kept for reuse may have grown; anything else that grows is a leak.
        let grown = second.saturating_sub(first) as f64;
        assert!(grown <= kv + f64::from(64 << 20), "{first} bytes after a half, {second} after the other");
    }
    if asked.is_some() {
        eprintln!(
            "{counts:?}; bytes held after each half {held:?}, of keys and values {kv} of {limit} at the end"
        );
    }
    let models: Value = ask(address, "GET", "/v1/models", "").good();
    assert_eq!(models["data"][0]["id"], "stories");
}
