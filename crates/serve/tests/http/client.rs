//! A server for all tests, and a client that hides nothing: requests as bytes, replies as they came.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};
use tilewright_engine::{Cache, Engine, OpenOptions, SchedulerOptions, Source, WeightFormat};
use tilewright_serve::{ServeOptions, Server};

/// Has a place for tools and for reasoning, so that the story model can be asked for both.
const TEMPLATE: &str = "{%- if tools %}{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}{% endif -%}
{%- for message in messages %}{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}{%- endfor -%}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{% if enable_thinking %}<think>\n{% endif %}{%- endif -%}";

/// The story model on two threads.
pub(crate) fn engine() -> Engine {
    static OPEN: LazyLock<Engine> = LazyLock::new(|| {
        let options = OpenOptions {
            weights: Some(WeightFormat::Int8),
            threads: Some(2),
            cache: Cache::Off,
            ..OpenOptions::default()
        };
        Engine::open(Source::Embedded, &options, &mut |_| ()).unwrap()
    });
    OPEN.clone()
}

pub(crate) fn options() -> ServeOptions {
    ServeOptions {
        name: "stories".to_owned(),
        template: Some((TEMPLATE.to_owned(), "the tests".to_owned())),
        scheduler: SchedulerOptions { parallel: 8, ..SchedulerOptions::default() },
        ..ServeOptions::default()
    }
}

/// A server with these options that can answer.
pub(crate) fn start(options: ServeOptions) -> Server {
    let server = Server::start("127.0.0.1:0".parse().unwrap(), options).unwrap();
    server.ready(&engine()).unwrap();
    server
}

/// The server that tests share.
pub(crate) fn shared() -> SocketAddr {
    static SHARED: LazyLock<Server> = LazyLock::new(|| start(options()));
    SHARED.address()
}

/// A reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The body, after checking that all went well.
    #[track_caller]
    pub(crate) fn good(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()
    }

    /// The name of the refusal, after checking status and shape.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{self:?}");
        let error = self.json()["error"].clone();
        for key in ["message", "type", "code"] {
            assert!(error[key].is_string(), "{key}: {self:?}");
        }
        assert!(error.get("param").is_some() && error["number"].is_u64(), "{self:?}");
        error["code"].as_str().unwrap().to_owned()
    }

    /// The data of every event, after checking that there is nothing else but comments.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<String> {
        assert_eq!(self.status, 200, "{self:?}");
        assert!(self.head.contains("content-type: text/event-stream"), "{}", self.head);
        assert!(self.body.ends_with("\n\n"));
        let events = self.body.split("\n\n").filter(|event| !event.is_empty() && !event.starts_with(':'));
        events.map(|event| event.strip_prefix("data: ").unwrap().to_owned()).collect()
    }

    /// The chunks of a stream that ended well.
    #[track_caller]
    pub(crate) fn chunks(&self) -> Vec<Value> {
        let mut events = self.events();
        assert_eq!(events.pop().as_deref(), Some("[DONE]"), "{self:?}");
        events.iter().map(|event| serde_json::from_str(event).unwrap()).collect()
    }
}

/// Opens a connection and sends a request; what comes is left to the caller. HTTP/1.0: the body ends where the connection
/// does.
pub(crate) fn send(address: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let len = body.len();
    let kind = if body.is_empty() || headers.contains("Content-Type") {
        ""
    } else {
        "Content-Type: application/json\r\n"
    };
    let head = format!(
        "{method} {path} HTTP/1.0\r\nHost: localhost\r\n{kind}{headers}Content-Length: {len}\r\n\r\n"
    );
    // A server that refuses early may close before all of a large body was written.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
    stream
}

/// Reads a whole reply.
pub(crate) fn receive(stream: TcpStream) -> Reply {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "the connection ended within {head:?}");
    }
    let mut body = String::new();
    let _ = reader.read_to_string(&mut body);
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Reply { status, head: head.to_lowercase(), body }
}

/// Asks a server.
pub(crate) fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> Reply {
    receive(send(address, method, path, "", body))
}

/// Asks the shared server.
pub(crate) fn post(path: &str, body: &Value) -> Reply {
    ask(shared(), "POST", path, &body.to_string())
}

/// Asks the shared server.
pub(crate) fn get(path: &str) -> Reply {
    ask(shared(), "GET", path, "")
}

/// A request for a chat, greedy, with `more` fields.
pub(crate) fn chat_body(text: &str, more: Value) -> Value {
    let mut body = json!({
        "model": "stories",
        "messages": [{"role": "user", "content": text}],
        "temperature": 0,
        "max_tokens": 12,
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// A reply to that.
pub(crate) fn chat(text: &str, more: Value) -> Reply {
    post("/v1/chat/completions", &chat_body(text, more))
}

/// A metric of the shared server.
pub(crate) fn metric(address: SocketAddr, name: &str) -> f64 {
    let page = ask(address, "GET", "/metrics", "").body;
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).map(str::to_owned);
    line.unwrap_or_else(|| panic!("no {name} in {page}")).parse().unwrap()
}
