//! One choice of a reply: from what the engine says to what clients are told.

use serde_json::{Value, json};
use tilewright_engine::{
    Alternative, CALL_CLOSE, Call, CallParser, Done, Event, FinishReason, ReasoningSplitter, Stop, Token,
    Tokenizer,
};

/// What one event added.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    pub(crate) reasoning: String,
    pub(crate) content: String,
    pub(crate) calls: Vec<Call>,
    /// Of the tokens since the last text.
    pub(crate) logprobs: Vec<Value>,
    /// How it ended.
    pub(crate) end: Option<End>,
}

/// How a choice ended.
#[derive(Clone, Debug)]
pub(crate) struct End {
    /// OpenAI's word.
    pub(crate) reason: &'static str,
    pub(crate) done: Done,
}

/// A choice in the making.
pub(crate) struct Choice {
    splitter: ReasoningSplitter,
    calls: Option<CallParser>,
    tokenizer: Option<Tokenizer>,
    pending: Vec<(u32, Value)>,
    called: bool,
}

impl Choice {
    /// `calls` looks for calls of tools in the answer.
    pub(crate) fn new(
        splitter: ReasoningSplitter,
        calls: Option<CallParser>,
        tokenizer: Option<&Tokenizer>,
    ) -> Self {
        Self { splitter, calls, tokenizer: tokenizer.cloned(), pending: Vec::new(), called: false }
    }

    /// Takes an event.
    pub(crate) fn event(&mut self, event: Event) -> Delta {
        let mut delta = Delta::default();
        match event {
            Event::Prefill { .. } => {}
            Event::Token(token) => {
                self.pending.extend(logprobs(&token, self.tokenizer.as_ref()).map(|value| (token.id, value)));
            }
            Event::Text(text) => {
                let parts = self.splitter.push(&text);
                delta.reasoning = parts.reasoning;
                self.answer(&parts.answer, &mut delta);
            }
            Event::Done(done) => self.end(done, &mut delta),
        }
        let spoke = !(delta.reasoning.is_empty() && delta.content.is_empty() && delta.calls.is_empty());
        if spoke || delta.end.is_some() {
            delta.logprobs = self.pending.drain(..).map(|(_, value)| value).collect();
        }
        delta
    }

    fn answer(&mut self, text: &str, delta: &mut Delta) {
        match &mut self.calls {
            None => delta.content.push_str(text),
            Some(parser) => {
                let (content, calls) = parser.push(text);
                self.called |= !calls.is_empty();
                delta.content.push_str(&content);
                delta.calls.extend(calls);
            }
        }
    }

    fn end(&mut self, done: Done, delta: &mut Delta) {
        match &done.reason {
            // The end token has no text, so its entry would belong to none.
            FinishReason::Stop(Stop::Id(id)) if self.pending.last().is_some_and(|(last, _)| last == id) => {
                self.pending.pop();
            }
            // Where only one call may be made its end stops the reply.
            FinishReason::Stop(Stop::Text(stop)) if stop == CALL_CLOSE && self.calls.is_some() => {
                self.answer(CALL_CLOSE, delta);
            }
            _ => {}
        }
        let parts = self.splitter.finish();
        delta.reasoning.push_str(&parts.reasoning);
        self.answer(&parts.answer, delta);
        if let Some(parser) = &mut self.calls {
            delta.content.push_str(&parser.finish());
        }
        let reason = match done.reason {
            FinishReason::Stop(_) if self.called => "tool_calls",
            FinishReason::Stop(_) => "stop",
            FinishReason::Length | FinishReason::Cancelled => "length",
        };
        delta.end = Some(End { reason, done });
    }
}

/// The entry of a token, where log-probabilities were asked for.
fn logprobs(token: &Token, tokenizer: Option<&Tokenizer>) -> Option<Value> {
    let logprobs = token.logprobs.as_ref()?;
    let mut own = entry(tokenizer, Alternative { id: token.id, logprob: logprobs.chosen });
    own["top_logprobs"] = logprobs.top.iter().map(|other| entry(tokenizer, *other)).collect();
    Some(own)
}

fn entry(tokenizer: Option<&Tokenizer>, one: Alternative) -> Value {
    let bytes = tokenizer.and_then(|tokenizer| tokenizer.token_bytes(one.id)).unwrap_or_default();
    json!({"token": String::from_utf8_lossy(bytes), "logprob": one.logprob, "bytes": bytes})
}

/// Counts of one request: prompts once each, replies all.
#[derive(Debug, Default)]
pub(crate) struct Count {
    prompt: usize,
    cached: usize,
    completion: usize,
}

impl Count {
    /// Adds a choice that ended; `first` of its prompt.
    pub(crate) fn add(&mut self, end: &End, first: bool) {
        let usage = end.done.usage;
        self.completion += usage.completion_tokens;
        if first {
            self.prompt += usage.prompt_tokens;
            self.cached += usage.cached_tokens;
        }
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
            "prompt_tokens_details": {"cached_tokens": self.cached},
        })
    }
}
