//! `/v1/completions`: texts or ids, continued as they are.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value, json};
use tilewright_engine::{Code, FinishReason, ReasoningSplitter, Refusal, Request, Specials};

use crate::app::{App, Ready, now};
use crate::body::{Fields, brief, read};
use crate::choice::{Choice, Count, Delta};
use crate::error::{Failure, json_response};
use crate::params::{Params, check_model};
use crate::replies::Replies;
use crate::stream::{self, Shape};
use crate::text::{aside, tokenizer};

/// Tokens of a reply where the request does not say, as OpenAI has it.
const DEFAULT_TOKENS: usize = 16;

/// Replies that one request may ask for, over all prompts.
const MOST: usize = 64;

/// One prompt.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    Text(String),
    Ids(Vec<u32>),
}

/// A string, a list of strings, a list of ids, or a list of lists of ids.
pub(crate) fn inputs(fields: &mut Fields, key: &str) -> Vec<Input> {
    let ids = |value: &Value| -> Option<Vec<u32>> {
        value.as_array()?.iter().map(|id| u32::try_from(id.as_u64()?).ok()).collect()
    };
    let taken = fields.take(key);
    let Some(value) = fields.needed(key, taken) else { return Vec::new() };
    let found = match &value {
        Value::String(text) => Some(vec![Input::Text(text.clone())]),
        Value::Array(list) if list.is_empty() => None,
        Value::Array(list) if list.iter().all(Value::is_string) => {
            Some(list.iter().filter_map(|text| Some(Input::Text(text.as_str()?.to_owned()))).collect())
        }
        Value::Array(list) if list.iter().all(Value::is_array) => {
            list.iter().map(|one| ids(one).map(Input::Ids)).collect()
        }
        list => ids(list).map(|ids| vec![Input::Ids(ids)]),
    };
    found.unwrap_or_else(|| {
        fields.refuse(
            key,
            "a string, a list of strings, a list of ids or a list of such lists",
            brief(&value),
        );
        Vec::new()
    })
}

#[derive(Debug)]
struct Completion {
    prompts: Vec<Input>,
    params: Params,
    echo: bool,
}

/// The requests for the engine, a choice for each, and the text that each begins with.
#[derive(Default)]
struct Prepared {
    requests: Vec<Request>,
    choices: Vec<Choice>,
    echoes: Vec<String>,
}

impl Completion {
    fn read(mut fields: Fields) -> Result<Self, Refusal> {
        let mut params = Params::read(&mut fields);
        params.request.max_tokens.get_or_insert(DEFAULT_TOKENS.max(params.request.min_tokens));
        params.request.logprobs = fields.count("logprobs").map(|n| u8::try_from(n).unwrap_or(u8::MAX));
        params.request.continuation = true;
        let echo = fields.flag("echo").unwrap_or(false);
        if echo && params.request.logprobs.is_some() {
            fields.refuse("echo", "false with logprobs: prompts are not scored", true);
        }
        if let Some(suffix) = fields.text("suffix").filter(|suffix| !suffix.is_empty()) {
            fields.refuse("suffix", "nothing: the model only continues", suffix);
        }
        if let Some(best) = fields.count("best_of").filter(|best| *best != params.n) {
            fields.refuse("best_of", &format!("n ({})", params.n), best);
        }
        let prompts = inputs(&mut fields, "prompt");
        let replies = prompts.len() * params.n;
        if replies > MOST {
            fields.refuse("prompt", &format!("at most {MOST} replies in all"), replies);
        }
        fields.close()?;
        Ok(Self { prompts, params, echo })
    }

    fn prepare(&self, ready: &Ready) -> Result<Prepared, Refusal> {
        let mut prepared = Prepared::default();
        // Also for ids: the reply is text.
        let reader = tokenizer(ready)?;
        for prompt in &self.prompts {
            let ids = match prompt {
                Input::Ids(ids) => ids.clone(),
                Input::Text(text) => reader.encode_prompt(text, Specials::Plain)?,
            };
            let echo = match prompt {
                _ if !self.echo => String::new(),
                Input::Text(text) => text.clone(),
                Input::Ids(ids) => {
                    reader.check_ids(ids)?;
                    reader.decode(ids, false)?
                }
            };
            for request in self.params.choices(&ids) {
                prepared.requests.push(request);
                // An answer alone: no block is looked for in a text that is continued.
                let splitter = ReasoningSplitter::answer();
                let keeps_stop = self.params.request.include_stop;
                prepared.choices.push(Choice::new(splitter, None, Some(reader), keeps_stop));
                prepared.echoes.push(echo.clone());
            }
        }
        Ok(prepared)
    }
}

pub(crate) async fn handle(State(app): State<Arc<App>>, body: Body) -> Result<Response, Failure> {
    let ready = app.ready()?;
    let mut fields = read(&app, body).await?;
    check_model(&app, &mut fields)?;
    let completion = Completion::read(fields)?;
    let (stream, per_prompt) = (completion.params.stream, completion.params.n);
    let with_logprobs = completion.params.request.logprobs.is_some();
    let preparing = Arc::clone(&ready);
    let Prepared { requests, choices, echoes } = aside(move || completion.prepare(&preparing)).await?;
    let replies = Replies::open(&app, &ready, requests)?;
    let head = json!({
        "id": app.name("cmpl"),
        "object": "text_completion",
        "created": now(),
        "model": app.options.name,
        "system_fingerprint": ready.fingerprint,
    });
    let offsets = echoes.iter().map(|echo| echo.chars().count()).collect();
    let mut texts = Texts { head, echoes, offsets, with_logprobs };
    match stream {
        Some(usage) => Ok(stream::respond(&app, replies, choices, per_prompt, texts, usage)),
        None => whole(replies, choices, per_prompt, &mut texts).await,
    }
}

/// The reply at once.
async fn whole(
    mut replies: Replies,
    mut choices: Vec<Choice>,
    per_prompt: usize,
    texts: &mut Texts,
) -> Result<Response, Failure> {
    let mut totals: Vec<Delta> = choices.iter().map(|_| Delta::default()).collect();
    while let Some((index, events)) = replies.next().await {
        for event in events? {
            totals[index].add(choices[index].event(event));
        }
    }
    let mut count = Count::default();
    let mut list = Vec::new();
    for (index, total) in totals.iter().enumerate() {
        let ended = total.end.as_ref().filter(|end| end.done.reason != FinishReason::Cancelled);
        let Some(end) = ended else {
            return Err(Refusal::with_findings(Code::Cancelled, Vec::new()).into());
        };
        count.add(end, index.is_multiple_of(per_prompt));
        list.push(texts.choice(index, true, total, Some(end.reason)));
    }
    let mut body = texts.head.clone();
    body["choices"] = json!(list);
    body["usage"] = count.json();
    Ok(json_response(StatusCode::OK, &body))
}

/// Choices as text.
struct Texts {
    head: Value,
    echoes: Vec<String>,
    /// Characters of each choice so far.
    offsets: Vec<usize>,
    with_logprobs: bool,
}

impl Texts {
    fn choice(&mut self, index: usize, first: bool, delta: &Delta, reason: Option<&str>) -> Value {
        let echo = if first { self.echoes[index].as_str() } else { "" };
        let text = format!("{echo}{}", delta.content);
        let logprobs = if self.with_logprobs { self.logprobs(index, &delta.logprobs) } else { Value::Null };
        json!({"index": index, "text": text, "logprobs": logprobs, "finish_reason": reason})
    }

    /// The older form: parallel lists.
    fn logprobs(&mut self, index: usize, entries: &[Value]) -> Value {
        let mut offsets = Vec::new();
        for entry in entries {
            offsets.push(self.offsets[index]);
            self.offsets[index] += entry["token"].as_str().unwrap_or_default().chars().count();
        }
        let list = |key: &str| entries.iter().map(|entry| entry[key].clone()).collect::<Vec<_>>();
        let top = |entry: &Value| -> Map<String, Value> {
            let others = entry["top_logprobs"].as_array().into_iter().flatten();
            others.filter_map(|o| Some((o["token"].as_str()?.to_owned(), o["logprob"].clone()))).collect()
        };
        json!({
            "tokens": list("token"),
            "token_logprobs": list("logprob"),
            "top_logprobs": entries.iter().map(top).collect::<Vec<_>>(),
            "text_offset": offsets,
        })
    }
}

impl Shape for Texts {
    fn head(&self) -> Value {
        self.head.clone()
    }

    fn chunks(&mut self, index: usize, first: bool, delta: &Delta) -> Vec<Value> {
        let echo = first && !self.echoes[index].is_empty();
        let reason = delta.end.as_ref().map(|end| end.reason);
        if delta.content.is_empty() && reason.is_none() && !echo {
            return Vec::new();
        }
        vec![self.choice(index, first, delta, reason)]
    }
}

/// Takes the fields of a request, for tests.
#[cfg(test)]
pub(crate) fn take(fields: Fields) -> Result<(), Refusal> {
    Completion::read(fields).map(drop)
}
