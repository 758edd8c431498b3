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
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
    let mut id = given.unwrap_or_else(|| app.name("req"));
    let mut response = match call(&app, body, &mut id).await {
        Ok(body) => json_response(StatusCode::OK, &body),
        Err(failure) => failure.named(&id).into_response(),
    };
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

async fn call(app: &Arc<App>, body: Body, id: &mut String) -> Result<Value, Failure> {
    let mut fields = read(app, body).await?;
    if let Some(named) = fields.text("request_id") {
        *id = named;
    }
    let module = fields.text("module");
    let module = fields.needed("module", module).unwrap_or_default();
    let function = fields.text("function");
    let function = fields.needed("function", function).unwrap_or_default();
    let args = fields.take("args");
    fields.close()?;
    let busy = |_| Refusal::new(Code::QueueFull, "library functions", "one at a time", "another");
    // The call holds its turn, whether or not the client waits for it.
    let turn = Arc::clone(&app.library_turn).try_acquire_owned().map_err(busy)?;
    let began = Instant::now();
    let library = app.library.clone();
    let names = (module.clone(), function.clone());
    let work = move || {
        let result = library.execute(&names.0, &names.1, args.as_ref());
        drop(turn);
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
