//! What an answer of the hub means.

use tilewright_model::{Code, Refusal};

/// What was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Repository,
    File,
}

/// Refuses by the status, and by the word for it that a hub adds (`error`, of its header `X-Error-Code`).
pub(crate) fn judge(status: u16, error: &str, subject: Subject, has_token: bool) -> Result<(), Refusal> {
    let got = match error {
        "" => status.to_string(),
        error => format!("{status} {error}"),
    };
    let token = if has_token { "with the token there is" } else { "and there is no HF_TOKEN" };
    let (code, what, expected, got) = match (status, error, subject) {
        (200..=399, ..) => return Ok(()),
        // A repository that does not exist is hidden as one that is private.
        (401 | 404, "RepoNotFound", _) | (404, _, Subject::Repository) => {
            (Code::HubRepositoryNotFound, "repository", "one that the hub shows", format!("{got}, {token}"))
        }
        (401 | 403, ..) => (Code::HubTokenNeeded, "access", "granted", format!("{got}, {token}")),
        (404, ..) => (Code::HubFileNotFound, "file", "in the repository", got),
        _ => (Code::HubRefused, "answer", "200", got),
    };
    Err(Refusal::new(code, what, expected, got))
}

/// A connection that was not made or did not last.
pub(crate) fn lost(url: &str, error: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::HubConnectionLost, "connection", "one that lasts", error).at(url)
}
