//! Text to ids and back, and conversations to prompts.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};
use tilewright_engine::{Code, Refusal, Specials, Tokenizer};
use tokio::sync::Semaphore;

use crate::app::{App, Ready};
use crate::body::{Fields, read};
use crate::chat::Conversation;
use crate::error::{Failure, json_response};
use crate::params::check_model;

/// The tokenizer, which text needs.
///
/// # Errors
/// `tokenizer_invalid`.
pub(crate) fn tokenizer(ready: &Ready) -> Result<&Tokenizer, Refusal> {
    let missing = || Refusal::new(Code::TokenizerInvalid, "tokenizer", "one, to read text", "none");
    ready.engine.tokenizer().ok_or_else(missing)
}

/// Does work that takes its time where it holds nobody up.
///
/// # Errors
/// That of the work.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Failure> {
    // Memory for a long text many times over is not given to many at once.
    static PLACES: Semaphore = Semaphore::const_new(4);
    let _place = PLACES.acquire().await;
    let broken = |error| Refusal::new(Code::DeviceFailed, "request", "an end of its preparation", error);
    Ok(tokio::task::spawn_blocking(work).await.map_err(broken)??)
}

/// `{content}` or `{messages}` to ids.
pub(crate) async fn tokenize(State(app): State<Arc<App>>, body: Body) -> Result<Response, Failure> {
    let ready = app.ready()?;
    let mut fields = read(&app, body).await?;
    check_model(&app, &mut fields)?;
    let content = fields.text("content");
    let pieces = fields.flag("with_pieces").unwrap_or(false);
    let add = fields.flag("add_special").unwrap_or(false);
    let parse = fields.flag("parse_special").unwrap_or(false);
    let conversation = match &content {
        Some(_) => None,
        None => Some(Conversation::read(&mut fields)?),
    };
    fields.close()?;
    let body = aside(move || {
        let reader = tokenizer(&ready)?;
        let specials = if parse { Specials::Parse } else { Specials::Plain };
        let ids = match (content, conversation) {
            (Some(text), _) if add => reader.encode_prompt(&text, specials)?,
            (Some(text), _) => reader.encode(&text, specials)?,
            (None, Some(conversation)) => reader.encode_chat(&conversation.render(&ready)?)?,
            (None, None) => Vec::new(),
        };
        let tokens: Vec<Value> =
            ids.iter().map(|&id| if pieces { piece(reader, id) } else { json!(id) }).collect();
        Ok(json!({"tokens": tokens, "count": ids.len(), "max_model_len": ready.engine.plan().context}))
    });
    Ok(json_response(StatusCode::OK, &body.await?))
}

/// An id with its text; with its bytes where those are no text.
fn piece(reader: &Tokenizer, id: u32) -> Value {
    let bytes = reader.token_bytes(id).unwrap_or_default();
    match std::str::from_utf8(bytes) {
        Ok(text) => json!({"id": id, "piece": text}),
        Err(_) => json!({"id": id, "piece": bytes}),
    }
}

/// `{tokens}` to text.
pub(crate) async fn detokenize(State(app): State<Arc<App>>, body: Body) -> Result<Response, Failure> {
    let ready = app.ready()?;
    let mut fields = read(&app, body).await?;
    check_model(&app, &mut fields)?;
    let ids = fields.ids("tokens");
    let ids = fields.needed("tokens", ids).unwrap_or_default();
    fields.close()?;
    let body = aside(move || {
        let reader = tokenizer(&ready)?;
        reader.check_ids(&ids)?;
        Ok(json!({"content": reader.decode(&ids, false)?}))
    });
    Ok(json_response(StatusCode::OK, &body.await?))
}

/// A conversation to the text that the model is given.
pub(crate) async fn apply_template(State(app): State<Arc<App>>, body: Body) -> Result<Response, Failure> {
    let ready = app.ready()?;
    let mut fields: Fields = read(&app, body).await?;
    check_model(&app, &mut fields)?;
    let conversation = Conversation::read(&mut fields)?;
    fields.close()?;
    let prompt = aside(move || Ok(conversation.render(&ready)?.text().to_owned())).await?;
    Ok(json_response(StatusCode::OK, &json!({"prompt": prompt})))
}
