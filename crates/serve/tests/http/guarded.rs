//! The key.

use crate::client::{options, receive, send, start};

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
