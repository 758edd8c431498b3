//! The little of HTTP that a load needs: version 1.0, where a body ends with its connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tilewright_model::{Code, Refusal};

/// Longest silence of a server.
const PATIENCE: Duration = Duration::from_secs(300);
/// Longest time of a reply.
const LONGEST: Duration = Duration::from_secs(3600);
/// Most bytes of a stream, and for each of its tokens: an event of one takes some hundreds.
const MOST_BYTES: [u64; 2] = [1 << 20, 1 << 12];
/// Most bytes of a refusal, or of what a server says of itself.
const MOST_WORDS: u64 = 1 << 16;

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

/// A server by its address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer<'a>(pub(super) &'a str);

impl Peer<'_> {
    fn refuse(self, expected: &str, got: impl std::fmt::Display) -> Refusal {
        Refusal::new(Code::ServerUnmeasurable, "server", expected, got).at(self.0)
    }

    fn lost(self, error: impl std::fmt::Display) -> Refusal {
        self.refuse("an answer", error)
    }

    /// What a server says of its build, in words of its own: ours at `/version`, llama.cpp's at `/props`.
    ///
    /// # Errors
    /// `server_unmeasurable` when nobody listens.
    pub(super) fn version(self) -> Result<String, Refusal> {
        TcpStream::connect(self.0).map_err(|error| self.lost(error))?;
        let asked = |path| self.get(path).ok().and_then(|body| serde_json::from_str::<Value>(&body).ok());
        let ours = asked("/version").map(|said| said["version"].clone());
        let said = ours.or_else(|| asked("/props").map(|said| said["build_info"].clone()));
        Ok(said.as_ref().and_then(Value::as_str).unwrap_or("a server that does not say").to_owned())
    }

    /// The body of a path, or as much of it as a server says of itself.
    fn get(self, path: &str) -> Result<String, Refusal> {
        let mut body = String::new();
        self.open(&format!("GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.0))?
            .take(MOST_WORDS)
            .read_to_string(&mut body)
            .map_err(|error| self.lost(error))?;
        Ok(body)
    }

    /// `count` greedy tokens after `prompt`, streamed.
    ///
    /// # Errors
    /// `server_unmeasurable` for a server that is not there, that refuses, breaks off, sends without end or does not count.
    pub(super) fn complete(self, prompt: &[u32], count: usize, clock: Instant) -> Result<Reply, Refusal> {
        let body = json!({
            "prompt": prompt, "max_tokens": count, "temperature": 0, "ignore_eos": true, "stream": true,
            "stream_options": {"include_usage": true},
        })
        .to_string();
        let request = format!(
            "POST /v1/completions HTTP/1.0\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.0,
            body.len()
        );
        let (mut reply, mut counted) = (Reply::default(), None);
        let most = MOST_BYTES[0] + MOST_BYTES[1] * count as u64;
        let mut lines = self.open(&request)?.take(most);
        let mut line = String::new();
        while lines.read_line(&mut line).map_err(|error| self.lost(error))? > 0 {
            let at = clock.elapsed().as_nanos() as u64;
            // The space after the colon may be left out.
            if let Some(data) = line.trim_end().strip_prefix("data:").map(str::trim_start) {
                if data == "[DONE]" {
                    reply.done_ns = at;
                    let expected = format!("{count} as usage.completion_tokens, the tokens asked for");
                    reply.tokens = counted.ok_or_else(|| self.refuse(&expected, "none"))?;
                    return match reply.tokens == count {
                        true => Ok(reply),
                        false => Err(self.refuse(&expected, reply.tokens)),
                    };
                }
                let event: Value =
                    serde_json::from_str(data).map_err(|error| self.refuse("an event of JSON", error))?;
                if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
                    return Err(self.lost(error));
                }
                if let Some(text) = event["choices"][0]["text"].as_str().filter(|text| !text.is_empty()) {
                    reply.text.push_str(text);
                    reply.events_ns.push(at);
                }
                if let Some(tokens) = event["usage"]["completion_tokens"].as_u64() {
                    counted = Some(tokens as usize);
                }
            }
            line.clear();
        }
        if lines.limit() == 0 {
            return Err(self.refuse(&format!("a reply of at most {most} bytes"), "more"));
        }
        Err(self.refuse("a stream that ends with [DONE]", "one that broke off"))
    }

    /// Sends a request; the body of an answer that says 200.
    fn open(self, request: &str) -> Result<BufReader<Timed>, Refusal> {
        let lost = |error| self.lost(error);
        let mut stream = TcpStream::connect(self.0).map_err(lost)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(lost)?;
        stream.set_nodelay(true).map_err(lost)?;
        stream.write_all(request.as_bytes()).map_err(lost)?;
        let mut reader = BufReader::new(Timed { stream, until: Instant::now() + LONGEST });
        let mut head = (&mut reader).take(MOST_WORDS);
        let mut status = String::new();
        head.read_line(&mut status).map_err(lost)?;
        let mut line = String::new();
        while head.read_line(&mut line).map_err(lost)? > 0 && !line.trim().is_empty() {
            line.clear();
        }
        if status.split_whitespace().nth(1) != Some("200") {
            let mut body = String::new();
            // What it says is a help, no more.
            let _ = reader.take(MOST_WORDS).read_to_string(&mut body);
            return Err(self.refuse("an answer of 200", format!("{} {body}", status.trim())));
        }
        Ok(reader)
    }
}

/// A connection whose silence and whose whole time are bounded.
struct Timed {
    stream: TcpStream,
    until: Instant,
}

impl Read for Timed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left.min(PATIENCE)))?;
        self.stream.read(out)
    }
}
