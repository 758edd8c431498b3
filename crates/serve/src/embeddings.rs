//! `/v1/embeddings`: pooled hidden states.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tilewright_engine::{Cancel, Code, Embedding, Pooling, Refusal, Specials};
use tokio::sync::oneshot;

use crate::app::{App, Ready};
use crate::body::{Fields, brief, read};
use crate::completions::{Input, inputs};
use crate::error::{Failure, json_response};
use crate::params::check_model;
use crate::text::{aside, tokenizer};

/// Inputs that one request may have.
const MOST: usize = 256;

/// Raised when the client goes away.
struct Guard(Cancel);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

pub(crate) async fn handle(State(app): State<Arc<App>>, body: Body) -> Result<Response, Failure> {
    let ready = app.ready()?;
    let mut fields = read(&app, body).await?;
    check_model(&app, &mut fields)?;
    fields.harmless(&["user"]);
    let pooling = pooling(&mut fields);
    let base64 = base64_wanted(&mut fields);
    let hidden = ready.engine.config().hidden;
    if let Some(dimensions) = fields.count("dimensions").filter(|d| *d != hidden) {
        fields.refuse("dimensions", &format!("{hidden}, the model's"), dimensions);
    }
    let inputs = inputs(&mut fields, "input");
    if !(1..=MOST).contains(&inputs.len()) {
        fields.refuse("input", &format!("1 to {MOST} texts or lists of ids"), inputs.len());
    }
    fields.close()?;

    let reader = Arc::clone(&ready);
    let ids: Vec<Vec<u32>> =
        aside(move || inputs.into_iter().map(|input| input_ids(&reader, input)).collect()).await?;
    let tokens: usize = ids.iter().map(Vec::len).sum();
    let guard = Guard(Cancel::default());
    let mut data = Vec::with_capacity(ids.len());
    for (index, ids) in ids.into_iter().enumerate() {
        let vector = embed(&ready, ids, pooling, guard.0.clone()).await?;
        let embedding = if base64 { json!(encode(&vector)) } else { json!(vector) };
        data.push(json!({"object": "embedding", "index": index, "embedding": embedding}));
    }
    let usage = json!({"prompt_tokens": tokens, "total_tokens": tokens});
    let body = json!({"object": "list", "data": data, "model": app.options.name, "usage": usage});
    Ok(json_response(StatusCode::OK, &body))
}

/// Takes the input in between the steps of those that reply.
async fn embed(ready: &Ready, ids: Vec<u32>, pooling: Pooling, cancel: Cancel) -> Result<Vec<f32>, Failure> {
    let (send, answer) = oneshot::channel();
    let (engine, chunk) = (ready.engine.clone(), ready.scheduler.options().prefill_chunk);
    let mut send = Some(send);
    let mut state: Option<Embedding> = None;
    let mut ids = Some(ids);
    let mut work = move || -> Result<Option<Vec<f32>>, Refusal> {
        if let Some(ids) = ids.take() {
            state = Some(Embedding::new(&engine, ids, pooling)?);
        }
        state.as_mut().map_or(Ok(None), |state| state.advance(chunk, &cancel))
    };
    ready.scheduler.between_steps(move || {
        let result = work().transpose();
        let over = result.is_some();
        if let (Some(result), Some(send)) = (result, if over { send.take() } else { None }) {
            // Nobody listens where the client went away.
            let _ = send.send(result);
        }
        over
    })?;
    let lost = |error| Refusal::new(Code::DeviceFailed, "scheduler", "an answer", error);
    Ok(answer.await.map_err(lost)??)
}

fn pooling(fields: &mut Fields) -> Pooling {
    match fields.text("pooling").as_deref() {
        None | Some("last") => Pooling::Last,
        Some("mean") => Pooling::Mean,
        Some(other) => {
            fields.refuse("pooling", "last or mean", other);
            Pooling::Last
        }
    }
}

fn base64_wanted(fields: &mut Fields) -> bool {
    match fields.take("encoding_format") {
        None => false,
        Some(Value::String(format)) if format == "float" || format == "base64" => format == "base64",
        Some(other) => {
            fields.refuse("encoding_format", "float or base64", brief(&other));
            false
        }
    }
}

/// Little-endian floats, as OpenAI's clients read them.
fn encode(vector: &[f32]) -> String {
    STANDARD.encode(vector.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
}

fn input_ids(ready: &Ready, input: Input) -> Result<Vec<u32>, Refusal> {
    match input {
        Input::Ids(ids) => Ok(ids),
        Input::Text(text) => tokenizer(ready)?.encode_prompt(&text, Specials::Plain),
    }
}
