//! The published description of the endpoints: `openapi.json`, at the root of this crate.

use axum::http::header;
use axum::response::{IntoResponse, Response};

/// The document.
const TEXT: &str = include_str!("../openapi.json");

/// The document as it is.
pub(crate) async fn handle() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], TEXT).into_response()
}

#[cfg(test)]
mod tests;
