//! `/v1/libraries`: functions by module and name.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tilewright_engine::{Code, Finding, Refusal};
use tilewright_library::{ENGINE, Module, modules};

use crate::app::App;
use crate::body::read;
use crate::error::{Failure, json_response};
use crate::text::aside;

/// Modules of a page, at most and unless asked otherwise.
const PAGE: usize = 200;

/// The header that names a request.
const REQUEST_ID: &str = "x-request-id";
/// Characters of a request's name, at most.
const LONGEST_ID: usize = 128;

/// What of the list is asked for.
struct Asked {
    query: String,
    limit: usize,
    page: usize,
}

impl Asked {
    fn read(query: Option<&str>) -> Result<Self, Refusal> {
        let mut asked = Self { query: String::new(), limit: PAGE, page: 1 };
        let mut findings = Vec::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let mut count = |most: usize| {
                let found = value.parse().ok().filter(|n| (1..=most).contains(n));
                if found.is_none() {
                    findings.push(Finding::new(key, format!("a whole number from 1 to {most}"), value));
                }
                found.unwrap_or(1)
            };
            match key {
                // Names have no character that an address would write otherwise.
                "q" => asked.query = value.to_lowercase(),
                "limit" => asked.limit = count(PAGE),
                "page" => asked.page = count(usize::MAX),
                _ => findings.push(Finding::new(key, "q, limit or page", "an unknown field")),
            }
        }
        Refusal::check(Code::RequestInvalid, findings)?;
        Ok(asked)
    }
}

/// The modules whose name, or a function's, holds `q`.
pub(crate) async fn list(RawQuery(query): RawQuery) -> Result<Response, Failure> {
    let asked = Asked::read(query.as_deref())?;
    let holds = |name: &str| name.contains(&asked.query);
    let fits = |module: &&Module| holds(module.name) || module.functions.iter().any(|f| holds(f.name));
    let found: Vec<Value> = modules().iter().filter(fits).map(Module::json).collect();
    let from = (asked.page - 1).saturating_mul(asked.limit).min(found.len());
    let page = &found[from..found.len().min(from + asked.limit)];
    Ok(json_response(
        StatusCode::OK,
        &json!({
            "modules": page,
            "count": page.len(),
            "total": found.len(),
            "page": asked.page,
            "limit": asked.limit,
            "pages": found.len().div_ceil(asked.limit),
        }),
    ))
}

/// Whether functions can be called, which they can without a model too.
pub(crate) async fn health() -> Response {
    let body = json!({
        "status": "ok",
        "engine": ENGINE,
        "module_count": modules().len(),
        "runtime_available": true,
    });
    json_response(StatusCode::OK, &body)
}

/// Calls a function. The name of the request comes back, in the header and in the body.
pub(crate) async fn execute(State(app): State<Arc<App>>, headers: HeaderMap, body: Body) -> Response {
    let mut id = app.name("req");
    let mut response = match call(&app, &headers, body, &mut id).await {
        Ok(body) => json_response(StatusCode::OK, &body),
        Err(failure) => failure.named(&id).into_response(),
    };
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// A name that a caller gives a request: it comes back in a header, so it has no character that a header may not have.
fn request_name(field: &str, given: &[u8]) -> Result<String, Refusal> {
    let fits = (1..=LONGEST_ID).contains(&given.len()) && given.iter().all(u8::is_ascii_graphic);
    match std::str::from_utf8(given) {
        Ok(name) if fits => Ok(name.to_owned()),
        _ => {
            let expected = format!("1 to {LONGEST_ID} letters, digits and signs of ASCII");
            let got = format!("{} bytes that are not", given.len());
            Err(Refusal::new(Code::RequestInvalid, field, expected, got))
        }
    }
}

async fn call(app: &Arc<App>, headers: &HeaderMap, body: Body, id: &mut String) -> Result<Value, Failure> {
    if let Some(given) = headers.get(REQUEST_ID) {
        *id = request_name("X-Request-Id", given.as_bytes())?;
    }
    let mut fields = read(app, body).await?;
    if let Some(given) = fields.text("request_id") {
        *id = request_name("request_id", given.as_bytes())?;
    }
    let module = fields.text("module");
    let module = fields.needed("module", module).unwrap_or_default();
    let function = fields.text("function");
    let function = fields.needed("function", function).unwrap_or_default();
    let args = fields.take("args");
    fields.close()?;
    let most = app.options.scheduler.queue;
    let full = |_| Refusal::new(Code::QueueFull, "calls that wait", format!("at most {most}"), "one more");
    // The call holds its place and its turn, whether or not the client waits for it.
    let place = Arc::clone(&app.library_places).try_acquire_owned().map_err(full)?;
    let ended = |error| Refusal::new(Code::ServerUnavailable, "library functions", "a turn", error);
    let turn = Arc::clone(&app.library_turn).acquire_owned().await.map_err(ended)?;
    let began = Instant::now();
    let library = app.library.clone();
    let names = (module.clone(), function.clone());
    let work = move || {
        let result = library.execute(&names.0, &names.1, args.as_ref());
        drop((turn, place));
        result
    };
    let result = aside(work).await?;
    Ok(json!({
        "module": module,
        "function": function,
        "result": result,
        "latency_ms": began.elapsed().as_secs_f64() * 1e3,
        "engine_used": ENGINE,
        "request_id": id,
    }))
}
