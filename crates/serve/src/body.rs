//! A request's body: read within its limit, then field by field, so that none is overlooked.

use std::time::Duration;

use axum::body::{Body, HttpBody};
use futures_util::StreamExt;
use serde_json::{Map, Value};
use tilewright_engine::{Code, Finding, Refusal};

use crate::app::App;
use crate::error::Failure;

/// How often a body that waits is looked at.
const GLANCE: Duration = Duration::from_millis(100);

/// Time in which a client sends some more of its body.
const PATIENCE: Duration = Duration::from_secs(30);

/// Unknown fields that are named; how many more there are is said.
const NAMED: usize = 16;

/// Characters of a name, at most.
const LONGEST_NAME: usize = 64;

/// Reads a body as a JSON object, in which a key may be stated once.
///
/// # Errors
/// `body_too_large`, `request_invalid`, `server_unavailable`.
pub(crate) async fn read(app: &App, body: Body) -> Result<Fields, Failure> {
    let bytes = whole(app, body).await?;
    let value = tilewright_model::json::value(&bytes)
        .map_err(|error| Refusal::new(Code::RequestInvalid, "body", "a JSON object", error))?;
    Ok(Fields::open("", value)?)
}

/// A body to its end. One that says that it is too large is not waited for.
async fn whole(app: &App, body: Body) -> Result<Vec<u8>, Refusal> {
    let limit = app.options.body_limit;
    let too_large = |got| Refusal::new(Code::BodyTooLarge, "body", format!("at most {limit} bytes"), got);
    let cut = |got: &str| Refusal::new(Code::RequestInvalid, "body", "all of what was announced", got);
    let least = body.size_hint().lower();
    if least > limit as u64 {
        return Err(too_large(least.to_string()));
    }
    let (mut stream, mut bytes, mut patience) = (body.into_data_stream(), Vec::new(), PATIENCE);
    loop {
        match tokio::time::timeout(GLANCE, stream.next()).await {
            Ok(None) => return Ok(bytes),
            Ok(Some(Ok(part))) if part.len() > limit - bytes.len() => {
                return Err(too_large("more".to_owned()));
            }
            Ok(Some(Ok(part))) => {
                bytes.extend_from_slice(&part);
                patience = PATIENCE;
            }
            Ok(Some(Err(_))) => return Err(cut("less, or chunks that are none")),
            Err(_) if app.is_stopping() => {
                let got = "one that shuts down";
                return Err(Refusal::new(Code::ServerUnavailable, "server", "one that is ready", got));
            }
            Err(_) if patience <= GLANCE => return Err(cut("no more of it for too long")),
            Err(_) => patience -= GLANCE,
        }
    }
}

/// An object whose fields are taken one by one. `null` counts as absent. Findings are gathered, and what nobody took is one
/// too.
#[derive(Debug)]
pub(crate) struct Fields {
    path: String,
    map: Map<String, Value>,
    findings: Vec<Finding>,
}

impl Fields {
    /// Opens an object that lies at `path`.
    ///
    /// # Errors
    /// `request_invalid` when it is none.
    pub(crate) fn open(path: &str, value: Value) -> Result<Self, Refusal> {
        match value {
            Value::Object(map) => Ok(Self { path: path.to_owned(), map, findings: Vec::new() }),
            other => {
                let what = if path.is_empty() { "body" } else { path };
                Err(Refusal::new(Code::RequestInvalid, what, "an object", brief(&other)))
            }
        }
    }

    /// Where a field lies.
    fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// A field of any type.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.note(key);
        self.map.remove(key).filter(|value| !value.is_null())
    }

    /// Notes what is wrong with a field.
    pub(crate) fn refuse(&mut self, key: &str, expected: &str, got: impl std::fmt::Display) {
        self.findings.push(Finding::new(self.at(key), expected, got));
    }

    fn typed<T>(&mut self, key: &str, expected: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        let value = self.take(key)?;
        let found = read(&value);
        if found.is_none() {
            self.refuse(key, expected, brief(&value));
        }
        found
    }

    pub(crate) fn text(&mut self, key: &str) -> Option<String> {
        self.typed(key, "a string", |value| value.as_str().map(str::to_owned))
    }

    pub(crate) fn flag(&mut self, key: &str) -> Option<bool> {
        self.typed(key, "true or false", Value::as_bool)
    }

    pub(crate) fn number(&mut self, key: &str) -> Option<f64> {
        self.typed(key, "a number", Value::as_f64)
    }

    pub(crate) fn integer(&mut self, key: &str) -> Option<i64> {
        self.typed(key, "a whole number", Value::as_i64)
    }

    pub(crate) fn count(&mut self, key: &str) -> Option<usize> {
        self.typed(key, "a whole number from 0 on", |value| usize::try_from(value.as_u64()?).ok())
    }

    pub(crate) fn ids(&mut self, key: &str) -> Option<Vec<u32>> {
        self.typed(key, "a list of token ids", |value| {
            value.as_array()?.iter().map(|id| u32::try_from(id.as_u64()?).ok()).collect()
        })
    }

    /// A field that must be there.
    pub(crate) fn needed<T>(&mut self, key: &str, value: Option<T>) -> Option<T> {
        if value.is_none() && !self.findings.iter().any(|finding| finding.what == self.at(key)) {
            self.refuse(key, "a value", "none");
        }
        value
    }

    /// A name as OpenAI has them.
    pub(crate) fn name(&mut self, key: &str) -> Option<String> {
        let plain = |c: u8| c.is_ascii_alphanumeric() || c == b'_' || c == b'-';
        let fits = |name: &str| (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(plain);
        self.typed(key, "1 to 64 of a-z, A-Z, 0-9, _ and -", |value| {
            value.as_str().filter(|name| fits(name)).map(str::to_owned)
        })
    }

    /// An object within.
    pub(crate) fn object(&mut self, key: &str) -> Option<Self> {
        let value = self.take(key)?;
        self.within(&self.at(key), value)
    }

    /// An object within, that lies at `path`.
    pub(crate) fn within(&mut self, path: &str, value: Value) -> Option<Self> {
        match Self::open(path, value) {
            Ok(fields) => Some(fields),
            Err(refusal) => {
                self.findings.extend(refusal.findings().iter().cloned());
                None
            }
        }
    }

    /// Fields that are known and change nothing here.
    pub(crate) fn harmless(&mut self, keys: &[&str]) {
        for key in keys {
            self.note(key);
            self.map.remove(*key);
        }
    }

    /// Tells tests what was taken.
    fn note(&self, _key: &str) {
        #[cfg(test)]
        ASKED.with_borrow_mut(|asked| asked.insert(self.at(_key)));
    }

    /// Takes over the findings of an object within, which ends here.
    pub(crate) fn absorb(&mut self, inner: Self) {
        let findings = inner.finish();
        self.findings.extend(findings);
    }

    fn finish(mut self) -> Vec<Finding> {
        let unknown = |key: &str| {
            let what = self.at(&cut(key.to_owned()));
            Finding::new(what, "a field that docs/server.md lists for this endpoint", "an unknown one")
        };
        let named: Vec<Finding> = self.map.keys().take(NAMED).map(|key| unknown(key)).collect();
        self.findings.extend(named);
        if let more @ 1.. = self.map.len().saturating_sub(NAMED) {
            self.findings.push(Finding::new(
                "fields",
                "none that is unknown",
                format!("{more} more of them"),
            ));
        }
        self.findings
    }

    /// Ends the object.
    ///
    /// # Errors
    /// `request_invalid` with everything that was found, unknown fields included.
    pub(crate) fn close(self) -> Result<(), Refusal> {
        Refusal::check(Code::RequestInvalid, self.finish())
    }
}

/// A value in a few words.
pub(crate) fn brief(value: &Value) -> String {
    cut(value.to_string())
}

/// A text as far as a message has room for it.
fn cut(text: String) -> String {
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
thread_local! {
    /// Where the fields lie that were taken on this thread.
    static ASKED: std::cell::RefCell<std::collections::BTreeSet<String>> = std::cell::RefCell::default();
}

/// Where the fields lie that `work` takes, whether they are there or not.
#[cfg(test)]
pub(crate) fn asked(work: impl FnOnce()) -> std::collections::BTreeSet<String> {
    ASKED.take();
    work();
    ASKED.take()
}
