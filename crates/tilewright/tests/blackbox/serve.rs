//! `serve`: says where it listens, answers, ends when it is asked to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;

use serde_json::Value;

use crate::harness::{program, tilewright};

#[test]
fn it_answers_until_the_system_asks_it_to_end() {
    let home = tempfile::tempdir().unwrap();
    let mut child = program(&home).args(["serve", "--port", "0", "--json", "-t", "2"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(ready["model"], "stories-qwen3");
    let address = ready["address"].as_str().unwrap().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /health HTTP/1.0\r\n\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.ends_with(r#"{"status":"ok"}"#), "{reply}");
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_address_that_is_taken_is_refused_by_name() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refused = tilewright(&["serve", "--port", &port, "--json"]).refusal();
    assert_eq!(refused["code"], "address_unavailable");
}

#[test]
fn an_allowed_host_that_no_request_could_name_is_a_usage_error() {
    for wrong in ["http://x", "name:8080", "*", "*.example", "", "a..b", "[::1]", "a/b", "ä.example"] {
        let outcome = tilewright(&["serve", "--allow-host", wrong]).expect_code(2);
        assert!(outcome.stderr.contains("--allow-host"), "{wrong}: {}", outcome.stderr);
    }
    // What is right gets as far as the address, which is taken.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let hosts = [
        "--allow-host",
        "box.example",
        "--allow-host",
        "my_box",
        "--allow-host",
        "::2",
        "--allow-host",
        "10.0.0.1",
    ];
    let line = [&["serve", "--port", &port, "--json"][..], &hosts].concat();
    assert_eq!(tilewright(&line).refusal()["code"], "address_unavailable");
}
