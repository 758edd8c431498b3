//! Server-sent events as OpenAI sends them. What has come together, of one call of the device or while the client was behind,
//! goes out as one piece.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::response::sse::{Event as Sent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde_json::{Value, json};
use tilewright_engine::{Event, FinishReason, Refusal};

use crate::app::App;
use crate::choice::{Choice, Count, Delta};
use crate::error::Failure;
use crate::replies::{Replies, Told};

/// Most calls of the device whose tokens make one piece, so that a client that is behind still sees a reply grow.
const JOINED: usize = 8;

/// How a reply's pieces look on the wire.
pub(crate) trait Shape: Send + 'static {
    /// What all chunks begin with.
    fn head(&self) -> Value;
    /// Choices of chunks for what events added to choice `index`; `first` is its first.
    fn chunks(&mut self, index: usize, first: bool, delta: &Delta) -> Vec<Value>;
}

/// A stream in the making.
struct Streaming<S> {
    replies: Replies,
    choices: Vec<Choice>,
    /// What each choice has to say that is not yet ready.
    deltas: Vec<Option<Delta>>,
    begun: Vec<bool>,
    per_prompt: usize,
    shape: S,
    usage: Option<Count>,
    ready: VecDeque<String>,
    over: bool,
}

/// Streams `replies`; with `usage`, ends with a chunk that counts. The first `per_prompt` choices are of the first prompt,
/// and so on.
pub(crate) fn respond<S: Shape>(
    app: &Arc<App>,
    replies: Replies,
    choices: Vec<Choice>,
    per_prompt: usize,
    shape: S,
    usage: bool,
) -> Response {
    let begun = vec![false; choices.len()];
    let deltas = choices.iter().map(|_| None).collect();
    let usage = usage.then(Count::default);
    let ready = VecDeque::new();
    let streaming =
        Streaming { replies, choices, deltas, begun, per_prompt, shape, usage, ready, over: false };
    let events = unfold(streaming, |mut streaming| async move {
        let data = streaming.next().await?;
        Some((Ok::<_, Infallible>(Sent::default().data(data)), streaming))
    });
    let alive = KeepAlive::new().interval(app.options.keep_alive).text("keep-alive");
    Sse::new(events).keep_alive(alive).into_response()
}

impl<S: Shape> Streaming<S> {
    /// The next event's data.
    async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(data) = self.ready.pop_front() {
                return Some(data);
            }
            if self.over {
                return None;
            }
            let Some(told) = self.replies.next().await else {
                self.end();
                continue;
            };
            self.told(told);
            for _ in 1..JOINED {
                match self.replies.now() {
                    Some(told) if !self.over => self.told(told),
                    _ => break,
                }
            }
            (0..self.choices.len()).for_each(|index| self.flush(index));
        }
    }

    fn told(&mut self, (index, events): Told) {
        match events {
            Ok(events) => events.into_iter().for_each(|event| self.event(index, event)),
            Err(refusal) => self.fail(refusal),
        }
    }

    fn event(&mut self, index: usize, event: Event) {
        if matches!(&event, Event::Done(done) if done.reason == FinishReason::Cancelled) {
            let refusal = Refusal::with_findings(tilewright_engine::Code::Cancelled, Vec::new());
            return self.fail(refusal);
        }
        let delta = self.choices[index].event(event);
        if let (Some(end), Some(usage)) = (&delta.end, &mut self.usage) {
            usage.add(end, index.is_multiple_of(self.per_prompt));
        }
        match &mut self.deltas[index] {
            Some(before) if before.joins(&delta) => before.add(delta),
            Some(_) => {
                self.flush(index);
                self.deltas[index] = Some(delta);
            }
            before => *before = Some(delta),
        }
    }

    /// Makes chunks of what a choice has to say.
    fn flush(&mut self, index: usize) {
        if self.over {
            return;
        }
        let Some(delta) = self.deltas[index].take() else { return };
        let first = !std::mem::replace(&mut self.begun[index], true);
        for choice in self.shape.chunks(index, first, &delta) {
            self.chunk(json!([choice]), Value::Null);
        }
    }

    fn chunk(&mut self, choices: Value, usage: Value) {
        let mut chunk = self.shape.head();
        chunk["choices"] = choices;
        if self.usage.is_some() {
            chunk["usage"] = usage;
        }
        self.ready.push_back(chunk.to_string());
    }

    /// After what was said before.
    fn fail(&mut self, refusal: Refusal) {
        (0..self.choices.len()).for_each(|index| self.flush(index));
        self.ready.push_back(Failure::from(refusal).body().to_string());
        self.over = true;
    }

    fn end(&mut self) {
        if let Some(usage) = self.usage.as_ref().map(Count::json) {
            self.chunk(json!([]), usage);
        }
        self.ready.push_back("[DONE]".to_owned());
        self.over = true;
    }
}
