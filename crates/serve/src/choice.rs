//! One choice of a reply: from what the engine says to what clients are told.

use std::collections::VecDeque;

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
    /// Of the tokens whose text has begun.
    pub(crate) logprobs: Vec<Value>,
    /// How it ended.
    pub(crate) end: Option<End>,
}

impl Delta {
    /// Adds what `next` added after this, which says how the choice ended.
    pub(crate) fn add(&mut self, next: Delta) {
        self.reasoning.push_str(&next.reasoning);
        self.content.push_str(&next.content);
        self.calls.extend(next.calls);
        self.logprobs.extend(next.logprobs);
        self.end = next.end.or(self.end.take());
    }

    /// Whether one piece can hold both, in their order, each log-probability beside its text: of an answer or of reasoning alone,
    /// before the end.
    pub(crate) fn joins(&self, next: &Delta) -> bool {
        let rest = |delta: &Delta| delta.end.is_none() && delta.calls.is_empty();
        let spoken = |delta: &Delta| (delta.reasoning.is_empty(), delta.content.is_empty());
        let silent = |delta: &Delta| spoken(delta) == (true, true);
        let alike = spoken(self) == spoken(next) && spoken(self) != (false, false);
        rest(self) && rest(next) && (silent(self) || silent(next) || alike)
    }
}

/// How a choice ended.
#[derive(Clone, Debug)]
pub(crate) struct End {
    /// OpenAI's word.
    pub(crate) reason: &'static str,
    pub(crate) done: Done,
}

/// A token that no delta has told of yet.
struct Pending {
    id: u32,
    /// Bytes of the reply before it.
    from: usize,
    entry: Value,
}

/// A choice in the making.
pub(crate) struct Choice {
    splitter: ReasoningSplitter,
    calls: Option<CallParser>,
    tokenizer: Option<Tokenizer>,
    /// Whether the stop string that ends the reply is part of it.
    keeps_stop: bool,
    pending: VecDeque<Pending>,
    /// Bytes that all tokens so far stand for.
    spelled: usize,
    /// Whether they begin with a space, which some tokenizers leave out of a text.
    space: bool,
    /// Bytes of the text so far.
    said: usize,
    called: bool,
}

impl Choice {
    /// `calls` looks for calls of tools in the answer.
    pub(crate) fn new(
        splitter: ReasoningSplitter,
        calls: Option<CallParser>,
        tokenizer: Option<&Tokenizer>,
        keeps_stop: bool,
    ) -> Self {
        Self {
            splitter,
            calls,
            tokenizer: tokenizer.cloned(),
            keeps_stop,
            pending: VecDeque::new(),
            spelled: 0,
            space: false,
            said: 0,
            called: false,
        }
    }

    /// Takes an event.
    pub(crate) fn event(&mut self, event: Event) -> Delta {
        let mut delta = Delta::default();
        match event {
            Event::Prefill { .. } => {}
            Event::Token(token) => self.token(&token),
            Event::Text(text) => {
                let dropped = self.said == 0 && self.space && !text.starts_with(' ');
                self.said += text.len() + usize::from(dropped);
                let parts = self.splitter.push(&text);
                delta.reasoning = parts.reasoning;
                self.answer(&parts.answer, &mut delta);
            }
            Event::Done(done) => self.end(done, &mut delta),
        }
        let ended = delta.end.is_some();
        let spoke = !(delta.reasoning.is_empty() && delta.content.is_empty() && delta.calls.is_empty());
        if spoke || ended {
            while self.pending.front().is_some_and(|token| ended || token.from < self.said) {
                delta.logprobs.extend(self.pending.pop_front().map(|token| token.entry));
            }
        }
        delta
    }

    fn token(&mut self, token: &Token) {
        let Some(entry) = logprobs(token, self.tokenizer.as_ref()) else { return };
        self.pending.push_back(Pending { id: token.id, from: self.spelled, entry });
        // Special tokens have no text.
        let tokenizer = self.tokenizer.as_ref().filter(|tokenizer| !tokenizer.is_special(token.id));
        let bytes = tokenizer.and_then(|tokenizer| tokenizer.token_bytes(token.id)).unwrap_or_default();
        self.space |= self.spelled == 0 && bytes.starts_with(b" ");
        self.spelled += bytes.len();
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
            FinishReason::Stop(Stop::Id(id)) if self.pending.back().is_some_and(|last| last.id == *id) => {
                self.pending.pop_back();
            }
            FinishReason::Stop(Stop::Text(_)) if self.keeps_stop => {}
            // Where only one call may be made its end stops the reply.
            FinishReason::Stop(Stop::Text(stop)) if stop == CALL_CLOSE && self.calls.is_some() => {
                self.answer(CALL_CLOSE, delta);
            }
            // Tokens of which the stop string took everything have no text either.
            FinishReason::Stop(Stop::Text(_)) => self.pending.retain(|token| token.from < self.said),
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
