//! Which names are answered.

use axum::body::Body;

use super::*;

fn answered(at: &str, allowed: &[&str], host: Option<&str>) -> bool {
    let allowed: Vec<String> = allowed.iter().map(|name| (*name).to_owned()).collect();
    let mut request = Request::builder().uri("/v1/models");
    if let Some(host) = host {
        request = request.header("Host", host);
    }
    let request = request.body(Body::empty()).unwrap();
    Hosts::new(at.parse().unwrap(), &allowed).check(&request).is_ok()
}

#[test]
fn a_server_of_this_machine_answers_to_its_own_names() {
    for host in ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "127.0.0.2", "[::1]:8080"] {
        assert!(answered("127.0.0.1:8080", &[], Some(host)), "{host}");
    }
    assert!(answered("127.0.0.1:8080", &[], None));
}

#[test]
fn a_name_that_was_made_to_lead_here_is_refused() {
    for host in [
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "192.168.1.5",
        "",
        "a b",
    ] {
        assert!(!answered("127.0.0.1:8080", &[], Some(host)), "{host}");
    }
}

#[test]
fn more_names_can_be_allowed() {
    assert!(answered("127.0.0.1:8080", &["gpu.local"], Some("GPU.local:80")));
    assert!(!answered("127.0.0.1:8080", &["gpu.local"], Some("other.local")));
}

#[test]
fn a_server_that_others_may_reach_takes_any_name_until_some_are_named() {
    assert!(answered("0.0.0.0:8080", &[], Some("gpu.local")));
    assert!(!answered("0.0.0.0:8080", &["gpu.local"], Some("evil.example")));
    assert!(answered("192.168.1.5:8080", &["gpu.local"], Some("192.168.1.5:8080")));
}
