//! Paths to handlers, the key, and what is counted.

use std::sync::Arc;

use axum::Router;
use axum::body::HttpBody;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tilewright_engine::{Code, Refusal};

use crate::app::App;
use crate::error::Failure;
use crate::hosts::Hosts;
use crate::{chat, completions, embeddings, libraries, openapi, plain, text};

/// Every path, for the label of a metric.
pub(crate) const PATHS: [&str; 17] = [
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/models",
    "/v1/models/{model}",
    "/v1/responses",
    "/v1/libraries",
    "/v1/libraries/health",
    "/v1/libraries/execute",
    "/health",
    "/metrics",
    "/props",
    "/version",
    "/openapi.json",
    "/tokenize",
    "/detokenize",
    "/apply-template",
];

/// Paths that answer without a key.
const OPEN: [&str; 1] = ["/health"];

/// The routes of a server that answers to `hosts`.
pub(crate) fn router(app: &Arc<App>, hosts: Hosts) -> Router {
    let guarded = (Arc::clone(app), Arc::new(hosts));
    Router::new()
        .route("/v1/chat/completions", post(chat::handle))
        .route("/v1/completions", post(completions::handle))
        .route("/v1/embeddings", post(embeddings::handle))
        .route("/v1/models", get(plain::models))
        // A name may have slashes, as those of hubs do.
        .route("/v1/models/{*model}", get(plain::model))
        .route("/v1/responses", post(responses))
        .route("/v1/libraries", get(libraries::list))
        .route("/v1/libraries/health", get(libraries::health))
        .route("/v1/libraries/execute", post(libraries::execute))
        .route("/health", get(plain::health))
        .route("/metrics", get(plain::metrics))
        .route("/props", get(plain::props))
        .route("/version", get(plain::version))
        .route("/openapi.json", get(openapi::handle))
        .route("/tokenize", post(text::tokenize))
        .route("/detokenize", post(text::detokenize))
        .route("/apply-template", post(text::apply_template))
        .method_not_allowed_fallback(wrong_method)
        .fallback(unknown)
        .layer(from_fn_with_state(guarded, guard))
        .with_state(Arc::clone(app))
}

/// Name, key and type of a request, and the count of requests.
async fn guard(State((app, hosts)): State<(Arc<App>, Arc<Hosts>)>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let label = PATHS.iter().find(|known| matches(known, path)).copied().unwrap_or("other");
    let checked = hosts
        .check(&request)
        .and_then(|()| authorize(&app, &request))
        .and_then(|()| if request.body().is_end_stream() { Ok(()) } else { is_json(request.headers()) });
    let response = match checked {
        Ok(()) => next.run(request).await,
        Err(refusal) => Failure::from(refusal).into_response(),
    };
    app.metrics.request(label, response.status().as_u16());
    response
}

/// Whether a path is `known`, which may end in a name.
fn matches(known: &str, path: &str) -> bool {
    match known.strip_suffix("{model}") {
        Some(before) => path.len() > before.len() && path.starts_with(before),
        None => known == path,
    }
}

fn authorize(app: &App, request: &Request) -> Result<(), Refusal> {
    let Some(key) = &app.options.api_key else { return Ok(()) };
    if OPEN.contains(&request.uri().path()) {
        return Ok(());
    }
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    // The scheme's letters may be of either case.
    let bearer = |value: &'_ str| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("Bearer").then(|| key.trim_start().to_owned())
    };
    match given.and_then(bearer) {
        Some(given) if same(given.as_bytes(), key.as_bytes()) => Ok(()),
        given => {
            let got = if given.is_some() { "another key" } else { "none" };
            Err(Refusal::new(Code::Unauthorized, "Authorization", "Bearer and the server's key", got))
        }
    }
}

/// Whether a body is said to be JSON.
fn is_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let given = headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap_or("no text"));
    let kind = given.map(|value| value.split(';').next().unwrap_or_default().trim());
    if kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        return Ok(());
    }
    let got = given.unwrap_or("none");
    Err(Refusal::new(Code::ContentTypeUnsupported, "Content-Type", "application/json", got))
}

/// Compares in a time that does not tell where the first difference is.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |found, (a, b)| found | (a ^ b)) == 0
}

async fn responses() -> Failure {
    let expected = "POST /v1/chat/completions, which says the same of a text model";
    Refusal::new(Code::EndpointUnsupported, "endpoint", expected, "/v1/responses").into()
}

async fn wrong_method(method: Method) -> Failure {
    Refusal::new(Code::EndpointUnsupported, "method", "the method that docs/server.md states", method).into()
}

async fn unknown(request: Request) -> Failure {
    let path = request.uri().path().to_owned();
    Refusal::new(Code::EndpointUnsupported, "path", "one that docs/server.md lists", path).into()
}
