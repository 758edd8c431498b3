//! Endpoints that say what there is.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tilewright_engine::{Code, Refusal};

use crate::app::{App, Ready};
use crate::error::{Failure, json_response};

/// Whether the model can answer.
pub(crate) async fn health(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    app.ready()?;
    Ok(json_response(StatusCode::OK, &json!({"status": "ok"})))
}

/// Counters for Prometheus.
pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let load = app.ready().ok().map(|ready| ready.scheduler.load());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], app.metrics.write(load)).into_response()
}

/// Which build it is.
pub(crate) async fn version() -> Response {
    json_response(StatusCode::OK, &json!({"version": env!("CARGO_PKG_VERSION")}))
}

fn card(app: &App, ready: &Ready) -> Value {
    let (config, plan) = (ready.engine.config(), ready.engine.plan());
    json!({
        "id": app.options.name,
        "object": "model",
        "created": app.created,
        "owned_by": "tilewright",
        "meta": {
            "n_vocab": config.vocab,
            "n_ctx": plan.context,
            "n_ctx_train": config.max_positions,
            "n_embd": config.hidden,
            "size": plan.weight_bytes,
        },
    })
}

/// The models that can answer: one.
pub(crate) async fn models(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    let ready = app.ready()?;
    Ok(json_response(StatusCode::OK, &json!({"object": "list", "data": [card(&app, &ready)]})))
}

/// One model.
pub(crate) async fn model(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Response, Failure> {
    let ready = app.ready()?;
    if name != app.options.name {
        return Err(Refusal::new(Code::ModelNotFound, "model", &app.options.name, name).into());
    }
    Ok(json_response(StatusCode::OK, &card(&app, &ready)))
}

/// What was resolved when the model was opened, and the limits.
pub(crate) async fn props(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    let ready = app.ready()?;
    let (engine, plan, options) = (&ready.engine, ready.engine.plan(), &app.options);
    let template = match ready.template() {
        Ok(template) => json!({"source": template.place(), "text": template.source()}),
        Err(refusal) => json!({"refusal": refusal}),
    };
    Ok(json_response(
        StatusCode::OK,
        &json!({
            "model": options.name,
            "version": env!("CARGO_PKG_VERSION"),
            "plan": plan,
            "device_reason": engine.device().reason,
            "stop": engine.stop_set(),
            "chat_template": template,
            "sampling": engine.sampling_defaults(),
            "limits": {
                "parallel": options.scheduler.parallel,
                "queue": options.scheduler.queue,
                "body_bytes": options.body_limit,
                "kv_bytes": ready.scheduler.load().kv_limit,
            },
        }),
    ))
}
