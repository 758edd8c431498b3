//! Requests to the hub: the token, redirections, and asking again.
//!
//! Redirections are followed here because two things depend on them: the token goes to the hub and to nobody else, and what a
//! hub says of a large file stands in the redirection to where that file lies.

use std::io::Read;
use std::time::Duration;

use tilewright_model::{Code, Refusal};
use ureq::http::{Method, Request, Response, Uri, header};
use ureq::{Agent, Body};

use crate::Hub;
use crate::checksum::Checksum;
use crate::judge::{Subject, judge, lost};

/// How often something is asked before it is given up.
pub(crate) const TRIES: u32 = 5;
/// Redirections that are followed.
const HOPS: usize = 10;
/// The longest wait that a hub may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A listing of the largest repositories has a few MiB.
const LISTING_LIMIT: u64 = 16 << 20;

/// Speaks to one hub.
pub(crate) struct Client {
    agent: Agent,
    endpoint: Uri,
    base: String,
    authorization: Option<String>,
    pause: Duration,
}

/// How far redirections are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follow {
    /// Within the hub: the answer is the hub's own.
    Hub,
    Anywhere,
}

/// What a hub says of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The name of its content, which is a checksum.
    pub(crate) etag: String,
    /// Which one.
    pub(crate) checksum: Checksum,
    /// Its length.
    pub(crate) bytes: u64,
}

impl Client {
    pub(crate) fn new(hub: &Hub) -> Result<Self, Refusal> {
        let base = hub.endpoint.trim_end_matches('/').to_owned();
        let endpoint = endpoint(&base)?;
        let authorization = match &hub.token {
            None => None,
            Some(token) if token.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Some(format!("Bearer {token}"))
            }
            // The token itself is nobody's to read.
            Some(_) => {
                let (expected, got) = ("letters, digits and signs", "another character");
                return Err(Refusal::new(Code::RequestInvalid, "HF_TOKEN", expected, got));
            }
        };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(Duration::from_secs(20)))
            .timeout_recv_response(Some(Duration::from_secs(60)))
            .timeout_per_read(Some(Duration::from_secs(60)))
            .user_agent(concat!("tilewright/", env!("CARGO_PKG_VERSION")))
            .build();
        Ok(Self { agent: Agent::new_with_config(config), endpoint, base, authorization, pause: hub.pause })
    }

    /// The address of something of the hub, for messages too.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.base)
    }

    /// The text at an address.
    pub(crate) fn text(&self, url: &str) -> Result<Vec<u8>, Refusal> {
        self.patiently(|| {
            let mut answer = self.ask(&Method::GET, url, None, Follow::Hub)?;
            self.judge(&answer, Subject::Repository, url)?;
            if let Some(elsewhere) = text_of(&answer, "location").filter(|_| answer.status().is_redirection())
            {
                let refusal = Refusal::new(
                    Code::HubEndpointInvalid,
                    "hub",
                    "an answer",
                    format!("{} instead", redacted(&elsewhere)),
                );
                return Err(Trouble::lasting(refusal.at(url)));
            }
            let text = answer.body_mut().with_config().limit(LISTING_LIMIT).read_to_vec();
            text.map_err(|error| match error {
                ureq::Error::BodyExceedsLimit(most) => {
                    let (expected, got) = (format!("{most} bytes at most"), "more");
                    Trouble::lasting(
                        Refusal::new(Code::HubEndpointInvalid, "list of files", expected, got).at(url),
                    )
                }
                error => Trouble::passing(lost(url, error)),
            })
        })
    }

    /// What the hub says of the file at an address.
    pub(crate) fn facts(&self, url: &str) -> Result<Facts, Refusal> {
        let answer = self.patiently(|| {
            let answer = self.ask(&Method::HEAD, url, None, Follow::Hub)?;
            self.judge(&answer, Subject::File, url)?;
            Ok(answer)
        })?;
        let (etag, bytes) = (&["x-linked-etag", "etag"], &["x-linked-size", "content-length"]);
        let header = |names: &[&str; 2]| names.iter().find_map(|name| text_of(&answer, name));
        // The length of a redirection is its own.
        let bytes = header(if answer.status().is_redirection() {
            &["x-linked-size", "x-linked-size"]
        } else {
            bytes
        });
        let bytes = bytes.and_then(|text| text.parse().ok());
        let etag = header(etag).map(|text| text.trim_start_matches("W/").trim_matches('"').to_owned());
        let refuse =
            |what, expected, got: &str| Refusal::new(Code::HubEndpointInvalid, what, expected, got).at(url);
        let etag = etag.unwrap_or_default();
        let expected = "the SHA-256 of the content, or the SHA-1 of git";
        let checksum = Checksum::of(&etag).ok_or_else(|| refuse("etag", expected, &format!("{etag:?}")))?;
        let bytes = bytes.ok_or_else(|| refuse("length", "a number of bytes", "none"))?;
        Ok(Facts { etag, checksum, bytes })
    }

    /// The content of a file from byte `from` on, asked for once: the byte it begins with, and its reader.
    pub(crate) fn body(&self, url: &str, from: u64) -> Result<(u64, impl Read + use<>), Trouble> {
        let answer = self.ask(&Method::GET, url, Some(from), Follow::Anywhere)?;
        self.judge(&answer, Subject::File, url)?;
        let begins = match answer.status().as_u16() {
            206 => {
                let range = text_of(&answer, "content-range").unwrap_or_default();
                let begins =
                    range.strip_prefix("bytes ").and_then(|rest| rest.split('-').next()?.parse().ok());
                if begins != Some(from) {
                    let expected = format!("bytes from {from} on");
                    return Err(Trouble::lasting(
                        Refusal::new(Code::HubEndpointInvalid, "content-range", expected, range).at(url),
                    ));
                }
                from
            }
            // It knows of no ranges, and sends everything.
            200 => 0,
            status => {
                let refusal = Refusal::new(Code::HubRefused, "answer", "200 or 206", status);
                return Err(Trouble::lasting(refusal.at(url)));
            }
        };
        Ok((begins, answer.into_body().into_reader()))
    }

    /// Does something again as long as that may help.
    fn patiently<T>(&self, mut attempt: impl FnMut() -> Result<T, Trouble>) -> Result<T, Refusal> {
        let mut failed = 0;
        loop {
            match attempt() {
                Ok(done) => return Ok(done),
                Err(trouble) => self.wait(trouble, &mut failed)?,
            }
        }
    }

    /// Waits before the next try; gives the trouble back when there is to be none.
    pub(crate) fn wait(&self, trouble: Trouble, failed: &mut u32) -> Result<(), Refusal> {
        *failed += 1;
        if !trouble.passing || *failed >= TRIES {
            return Err(*trouble.refusal);
        }
        let pause = trouble.pause.unwrap_or(self.pause * (1 << (*failed - 1)));
        std::thread::sleep(pause.min(LONGEST_PAUSE));
        Ok(())
    }

    fn judge(&self, answer: &Response<Body>, subject: Subject, url: &str) -> Result<(), Trouble> {
        let status = answer.status();
        let code = text_of(answer, "x-error-code").unwrap_or_default();
        judge(status.as_u16(), &code, subject, self.authorization.is_some()).map_err(|refusal| Trouble {
            refusal: Box::new(refusal.at(url)),
            passing: status.as_u16() == 429 || status.is_server_error(),
            pause: text_of(answer, "retry-after").and_then(|text| text.parse().ok()).map(Duration::from_secs),
        })
    }

    /// One request, with its redirections.
    fn ask(
        &self,
        method: &Method,
        url: &str,
        from: Option<u64>,
        follow: Follow,
    ) -> Result<Response<Body>, Trouble> {
        let mut at: Uri = url.parse().map_err(|_| Trouble::lasting(no_address(url)))?;
        for _ in 0..HOPS {
            let mut request =
                Request::builder().method(method).uri(&at).header(header::ACCEPT_ENCODING, "identity");
            if let Some(from) = from {
                request = request.header(header::RANGE, format!("bytes={from}-"));
            }
            if let Some(authorization) =
                self.authorization.as_ref().filter(|_| same_origin(&at, &self.endpoint))
            {
                request = request.header(header::AUTHORIZATION, authorization);
            }
            let request = request.body(()).map_err(|_| Trouble::lasting(no_address(url)))?;
            let answer = self.agent.run(request).map_err(|error| Trouble::passing(lost(url, error)))?;
            let Some(location) = text_of(&answer, "location").filter(|_| answer.status().is_redirection())
            else {
                return Ok(answer);
            };
            let next =
                resolve(&at, &location).ok_or_else(|| Trouble::lasting(no_address(&location).at(url)))?;
            if follow == Follow::Hub && !same_origin(&next, &self.endpoint) {
                return Ok(answer);
            }
            at = next;
        }
        let (expected, got) = ("an answer", format!("{HOPS} redirections"));
        Err(Trouble::lasting(Refusal::new(Code::HubEndpointInvalid, "hub", expected, got).at(url)))
    }
}

/// Why a request came to nothing, and whether it may come to something later.
pub(crate) struct Trouble {
    refusal: Box<Refusal>,
    passing: bool,
    pause: Option<Duration>,
}

impl Trouble {
    pub(crate) fn passing(refusal: Refusal) -> Self {
        Self { refusal: Box::new(refusal), passing: true, pause: None }
    }

    pub(crate) fn lasting(refusal: Refusal) -> Self {
        Self { refusal: Box::new(refusal), passing: false, pause: None }
    }
}

fn text_of(answer: &Response<Body>, name: &str) -> Option<String> {
    Some(answer.headers().get(name)?.to_str().ok()?.to_owned())
}

/// Whether a text of the hub may be the name of a folder.
pub(crate) fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !name.is_empty() && name.len() <= 128 && name.bytes().all(plain)
}

fn endpoint(text: &str) -> Result<Uri, Refusal> {
    let known = |uri: &Uri| {
        let host = uri.host().is_some_and(|host| !host.is_empty());
        // Wherever the sign stands: a password may hold a slash and look like a path.
        let alone = uri.query().is_none() && !text.contains('@');
        matches!(uri.scheme_str(), Some("http" | "https")) && host && alone
    };
    text.parse().ok().filter(known).ok_or_else(|| no_address(text))
}

fn no_address(text: &str) -> Refusal {
    let expected = "http:// or https://, a host, perhaps a path";
    Refusal::new(Code::HubEndpointInvalid, "address", expected, format!("{:?}", redacted(text)))
}

/// An address without a name and a password before its host and without what is asked after its path, which may be secrets.
pub(crate) fn redacted(address: &str) -> String {
    let begin = address.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = address.split_at(begin);
    // The last sign, for a password may hold one as well as any other.
    let (user, rest) = rest.rsplit_once('@').map_or(("", rest), |(_, host)| ("…@", host));
    let (path, asked) = rest.split_once('?').map_or((rest, ""), |(path, _)| (path, "?…"));
    format!("{scheme}{user}{path}{asked}")
}

fn same_origin(a: &Uri, b: &Uri) -> bool {
    a.scheme() == b.scheme() && a.authority() == b.authority()
}

/// Where a redirection leads: an address of its own, or another path of the same host.
fn resolve(from: &Uri, location: &str) -> Option<Uri> {
    if location.starts_with('/') && !location.starts_with("//") {
        return format!("{}://{}{location}", from.scheme_str()?, from.authority()?).parse().ok();
    }
    endpoint_like(location)
}

fn endpoint_like(location: &str) -> Option<Uri> {
    location
        .parse::<Uri>()
        .ok()
        .filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some())
}
