//! A hub on loopback that does what a test tells it to.

#![allow(dead_code, reason = "two test binaries use a part of it each")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use sha2::{Digest, Sha256};

/// The revision of every repository.
pub(crate) const REVISION: &str = "0123456789abcdef0123456789abcdef01234567";

/// The name that a hub gives to a large file.
pub(crate) fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What happens to one request for the content of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fate {
    /// The connection ends after so many bytes.
    Cut(usize),
    /// This status, with the words of a hub's header for errors.
    Status(u16, &'static str),
    /// The whole content, whatever range is asked for.
    Whole,
    /// The content with its first byte changed.
    Damaged,
}

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
}

#[derive(Default)]
struct State {
    files: BTreeMap<String, (String, Vec<u8>)>,
    fates: Vec<(String, Fate)>,
    asked: Vec<Asked>,
    /// Where contents are redirected to.
    elsewhere: Option<String>,
    /// Where everything is redirected to.
    moved: Option<String>,
    /// How long files are said to be.
    claimed: Option<usize>,
}

/// Serves one repository, `org/name`, until the process ends.
#[derive(Clone)]
pub(crate) struct Server {
    address: String,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = Self { address, state: Arc::default() };
        let serving = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = serving.clone();
                std::thread::spawn(move || server.serve(stream));
            }
        });
        server
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Adds a file under the name of its content.
    pub(crate) fn file(&self, name: &str, etag: &str, content: &[u8]) {
        self.state().files.insert(name.to_owned(), (etag.to_owned(), content.to_vec()));
    }

    /// What happens to the next requests whose path ends so and that want a content or the list of files.
    pub(crate) fn fates(&self, end: &str, fates: &[Fate]) {
        self.state().fates.extend(fates.iter().map(|fate| (end.to_owned(), *fate)));
    }

    /// Redirects contents to another server, as hubs do with large files.
    pub(crate) fn redirect(&self, address: &str) {
        self.state().elsewhere = Some(address.to_owned());
    }

    /// Redirects every request, as a hub that has moved.
    pub(crate) fn moved(&self, address: &str) {
        self.state().moved = Some(address.to_owned());
    }

    /// Says of every file that it is so long.
    pub(crate) fn claims(&self, bytes: usize) {
        self.state().claimed = Some(bytes);
    }

    /// Every request so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state().asked.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
        let Some(first) = lines.next() else { return };
        let mut words = first.split(' ').map(str::to_owned);
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let headers = lines.take_while(|line| !line.is_empty()).filter_map(|line| {
            let (name, value) = line.split_once(": ")?;
            Some((name.to_lowercase(), value.to_owned()))
        });
        let asked = Asked { method, path, headers: headers.collect() };
        self.state().asked.push(asked.clone());
        let answer = self.answer(&asked);
        // A client that has enough goes away.
        let _ = stream.write_all(&answer);
    }

    fn answer(&self, asked: &Asked) -> Vec<u8> {
        let mut state = self.state();
        let at = state.fates.iter().position(|(end, _)| asked.path.ends_with(end.as_str()));
        let fate = at.filter(|_| asked.method == "GET").map(|at| state.fates.remove(at).1);
        if let Some(Fate::Status(status, error)) = fate {
            return head(status, &format!("x-error-code: {error}\r\nretry-after: 0"), 0);
        }
        if let Some(address) = &state.moved {
            return head(301, &format!("location: {address}{}", asked.path), 0);
        }
        if asked.path == "/api/models/org/name/revision/main" {
            let names = state.files.keys().map(|name| format!("{{\"rfilename\":\"{name}\"}}"));
            let names = names.collect::<Vec<_>>().join(",");
            let list = format!("{{\"sha\":\"{REVISION}\",\"siblings\":[{names}],\"private\":false}}");
            return [head(200, "content-type: application/json", list.len()), list.into_bytes()].concat();
        }
        let prefix = format!("/org/name/resolve/{REVISION}/");
        let name = asked.path.strip_prefix(&prefix).unwrap_or_default();
        let Some((etag, content)) = state.files.get(name) else {
            return head(404, "x-error-code: EntryNotFound", 0);
        };
        if let Some(elsewhere) = &state.elsewhere {
            let linked = format!("x-linked-etag: \"{etag}\"\r\nx-linked-size: {}", content.len());
            return head(
                302,
                &format!("{linked}\r\netag: \"of-the-link\"\r\nlocation: {elsewhere}{}", asked.path),
                0,
            );
        }
        let etag = format!("etag: \"{etag}\"");
        if asked.method == "HEAD" {
            return head(200, &etag, state.claimed.unwrap_or(content.len()));
        }
        let range =
            asked.headers.get("range").and_then(|range| range[6..].trim_end_matches('-').parse().ok());
        let from = range.filter(|_| !matches!(fate, Some(Fate::Whole)));
        let mut body = content[from.unwrap_or(0)..].to_vec();
        let head = match from {
            Some(from) => {
                let range = format!("content-range: bytes {from}-{}/{}", content.len() - 1, content.len());
                head(206, &format!("{etag}\r\n{range}"), body.len())
            }
            None => head(200, &etag, body.len()),
        };
        match fate {
            Some(Fate::Cut(bytes)) => body.truncate(bytes),
            Some(Fate::Damaged) => body[0] ^= 1,
            _ => {}
        }
        [head, body].concat()
    }
}

fn head(status: u16, headers: &str, length: usize) -> Vec<u8> {
    format!("HTTP/1.1 {status} x\r\n{headers}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n")
        .into_bytes()
}
