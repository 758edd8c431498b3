//! The little of HTTP that a load needs: version 1.0, where a body ends with its connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tilewright_model::{Code, Refusal};

/// Longest silence of a server.
const PATIENCE: Duration = Duration::from_secs(300);

/// A streamed reply.
#[derive(Debug, Default)]
pub(super) struct Reply {
    /// Its text.
    pub(super) text: String,
    /// When each piece of it came, in nanoseconds of the clock given.
    pub(super) events_ns: Vec<u64>,
    /// When it ended.
    pub(super) done_ns: u64,
    /// Its tokens, as the server counts them.
    pub(super) tokens: usize,
}

fn refuse(got: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::ServerUnavailable, "server", "an answer", got)
}

/// What a server says of its build, in words of its own: ours at `/version`, llama.cpp's at `/props`.
///
/// # Errors
/// `server_unavailable` when nobody listens.
pub(super) fn version(address: &str) -> Result<String, Refusal> {
    TcpStream::connect(address).map_err(refuse)?;
    let asked = |path| get(address, path).ok().and_then(|body| serde_json::from_str::<Value>(&body).ok());
    let ours = asked("/version").map(|said| said["version"].clone());
    let said = ours.or_else(|| asked("/props").map(|said| said["build_info"].clone()));
    Ok(said.as_ref().and_then(Value::as_str).unwrap_or("a server that does not say").to_owned())
}

/// The body of a path.
fn get(address: &str, path: &str) -> Result<String, Refusal> {
    let mut body = String::new();
    open(address, &format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n"))?
        .read_to_string(&mut body)
        .map_err(refuse)?;
    Ok(body)
}

/// `count` greedy tokens after `prompt`, streamed.
pub(super) fn complete(
    address: &str,
    prompt: &[u32],
    count: usize,
    clock: Instant,
) -> Result<Reply, Refusal> {
    let body = json!({
        "prompt": prompt, "max_tokens": count, "temperature": 0, "ignore_eos": true, "stream": true,
        "stream_options": {"include_usage": true},
    })
    .to_string();
    let request = format!(
        "POST /v1/completions HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut reply = Reply::default();
    for line in open(address, &request)?.lines() {
        let line = line.map_err(refuse)?;
        let at = clock.elapsed().as_nanos() as u64;
        let Some(data) = line.strip_prefix("data: ") else { continue };
        if data == "[DONE]" {
            reply.done_ns = at;
            return Ok(reply);
        }
        let event: Value = serde_json::from_str(data).map_err(refuse)?;
        if let Some(error) = event.get("error") {
            return Err(refuse(error));
        }
        if let Some(text) = event["choices"][0]["text"].as_str().filter(|text| !text.is_empty()) {
            reply.text.push_str(text);
            reply.events_ns.push(at);
        }
        if let Some(tokens) = event["usage"]["completion_tokens"].as_u64() {
            reply.tokens = tokens as usize;
        }
    }
    Err(refuse("a stream that broke off"))
}

/// Sends a request; the body of an answer that says 200.
fn open(address: &str, request: &str) -> Result<BufReader<TcpStream>, Refusal> {
    let mut stream = TcpStream::connect(address).map_err(refuse)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(refuse)?;
    stream.set_nodelay(true).map_err(refuse)?;
    stream.write_all(request.as_bytes()).map_err(refuse)?;
    let mut reader = BufReader::new(stream);
    let mut status = String::new();
    reader.read_line(&mut status).map_err(refuse)?;
    let mut line = String::new();
    while reader.read_line(&mut line).map_err(refuse)? > 0 && !line.trim().is_empty() {
        line.clear();
    }
    if status.split_whitespace().nth(1) != Some("200") {
        let mut body = String::new();
        // What it says is a help, no more.
        let _ = reader.read_to_string(&mut body);
        return Err(refuse(format!("{} {body}", status.trim())));
    }
    Ok(reader)
}
