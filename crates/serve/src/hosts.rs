//! Names that a server answers to.
//!
//! A page of any site can have its own name lead to 127.0.0.1 and then talk to servers there as if they were its own: the
//! browser sees one site. What it cannot do is send another name than its own in `Host`. So a server that only this machine
//! can reach answers to names of this machine alone.

use std::net::{IpAddr, SocketAddr};

use axum::extract::Request;
use axum::http::header;
use axum::http::uri::Authority;
use tilewright_engine::{Code, Refusal};

#[cfg(test)]
mod tests;

/// Names that are answered.
#[derive(Debug)]
pub(crate) struct Hosts {
    address: IpAddr,
    allowed: Vec<String>,
    /// Whether other names are refused: not where any machine may come, by whatever name it knows, and nobody said which.
    strict: bool,
}

impl Hosts {
    /// Of a server at `address`, with names that are allowed besides.
    pub(crate) fn new(address: SocketAddr, allowed: &[String]) -> Self {
        let strict = address.ip().is_loopback() || !allowed.is_empty();
        Self { address: address.ip(), allowed: allowed.to_vec(), strict }
    }

    /// Refuses a request to another name. One without any (HTTP/1.0) comes from no browser.
    ///
    /// # Errors
    /// `host_unknown`.
    pub(crate) fn check(&self, request: &Request) -> Result<(), Refusal> {
        let stated = request.headers().get(header::HOST).map(|value| value.to_str().unwrap_or_default());
        match stated.or(request.uri().authority().map(Authority::as_str)) {
            Some(stated) if self.strict && !self.answers(stated) => {
                let expected = "localhost, the server's address or a name of --allow-host";
                Err(Refusal::new(Code::HostUnknown, "Host", expected, stated))
            }
            _ => Ok(()),
        }
    }

    fn answers(&self, stated: &str) -> bool {
        let Ok(authority) = stated.parse::<Authority>() else { return false };
        let name = authority.host().trim_start_matches('[').trim_end_matches(']');
        let ours = |address: IpAddr| address == self.address || address.is_loopback();
        name.eq_ignore_ascii_case("localhost")
            || name.parse().is_ok_and(ours)
            || self.allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
    }
}
