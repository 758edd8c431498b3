//! The key, the name asked for, and the type of a body.

use std::io::Write;

use crate::client::{options, receive, send, shared, start};

#[test]
fn everything_but_health_wants_the_key() {
    let key = Some("secret".to_owned());
    let server = start(tilewright_serve::ServeOptions { api_key: key, ..options() });
    let get = |path: &str, headers: &str| receive(send(server.address(), "GET", path, headers, ""));
    for headers in [
        "",
        "Authorization: Bearer secre\r\n",
        "Authorization: secret\r\n",
        "Authorization: Bearer secret2\r\n",
    ] {
        for path in ["/v1/models", "/props", "/metrics", "/nowhere"] {
            assert_eq!(get(path, headers).refused(401), "unauthorized", "{path} {headers:?}");
        }
        get("/health", headers).good();
    }
    get("/v1/models", "Authorization: Bearer secret\r\n").good();
}

#[test]
fn a_page_s_own_name_does_not_reach_the_server() {
    let get = |address: std::net::SocketAddr, host: &str| {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        write!(stream, "GET /v1/models HTTP/1.0\r\nHost: {host}\r\n\r\n").unwrap();
        receive(stream)
    };
    let refused = get(shared(), "evil.example:8080");
    assert_eq!(refused.refused(403), "host_unknown");
    get(shared(), "localhost:1").good();
    let server = start(tilewright_serve::ServeOptions { hosts: vec!["gpu.local".to_owned()], ..options() });
    get(server.address(), "gpu.local").good();
    assert_eq!(get(server.address(), "evil.example").refused(403), "host_unknown");
}

#[test]
fn a_body_that_is_not_said_to_be_json_is_refused_by_name() {
    let body = r#"{"content": "Once"}"#;
    let post = |headers: &str| receive(send(shared(), "POST", "/tokenize", headers, body));
    for kind in [
        "text/plain",
        "text/plain; charset=utf-8",
        "application/x-www-form-urlencoded",
        "application/jsonx",
        "",
    ] {
        let refused = post(&format!("Content-Type: {kind}\r\n"));
        assert_eq!(refused.refused(415), "content_type_unsupported", "{kind}");
    }
    for kind in ["application/json", "Application/JSON; charset=utf-8"] {
        post(&format!("Content-Type: {kind}\r\n")).good();
    }
}
