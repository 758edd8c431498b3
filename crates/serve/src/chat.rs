//! `/v1/chat/completions`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Map, Value, json};
use tilewright_engine::{
    CALL_CLOSE, Call, ChatRole, Code, FinishReason, Grammar, Message, Prompt, ReasoningSplitter, Refusal,
    RenderArgs, Request,
};

use crate::app::{App, Ready, now};
use crate::body::{Fields, brief, read};
use crate::choice::{Choice, Count, Delta};
use crate::error::{Failure, json_response};
use crate::params::{Params, check_model};
use crate::replies::Replies;
use crate::stream::{self, Shape};
use crate::structured::Reasoning;
use crate::text::{aside, tokenizer};
use crate::tools::Tools;

/// A conversation and how it is rendered.
#[derive(Debug)]
pub(crate) struct Conversation {
    messages: Vec<Message>,
    args: RenderArgs,
    tools: Tools,
}

impl Conversation {
    /// Takes `messages`, `tools` and what is handed to the template.
    ///
    /// # Errors
    /// `message_invalid`, `content_unsupported`.
    pub(crate) fn read(fields: &mut Fields) -> Result<Self, Refusal> {
        let list = fields.take("messages");
        let list = fields.needed("messages", list);
        let messages = list.map_or(Ok(Vec::new()), |list| Message::list_from_json(&cleaned(list)))?;
        let mut extra = match fields.take("chat_template_kwargs") {
            None => Map::new(),
            Some(Value::Object(map)) => map,
            Some(other) => {
                fields.refuse("chat_template_kwargs", "an object", brief(&other));
                Map::new()
            }
        };
        let enable_thinking = thinking(fields, &mut extra);
        let tools = Tools::read(fields);
        let continued = messages.last().is_some_and(|last| last.role == ChatRole::Assistant);
        let args = RenderArgs {
            add_generation_prompt: !continued,
            continue_final_message: continued,
            enable_thinking,
            tools: tools.list.clone(),
            extra,
            now: None,
        };
        Ok(Self { messages, args, tools })
    }

    /// The text for the model.
    ///
    /// # Errors
    /// `template_invalid`, `message_invalid`, `content_unprotected`; `request_invalid` where the template has no place for
    /// what is asked.
    pub(crate) fn render(&self, ready: &Ready) -> Result<Prompt, Refusal> {
        let template = ready.template()?;
        let lacks = |what: &str| !template.names(what);
        if !self.args.tools.is_empty() && lacks("tools") {
            let expected = "none: the model's chat template has no place for them";
            return Err(Refusal::new(Code::RequestInvalid, "tools", expected, self.args.tools.len()));
        }
        if self.args.enable_thinking == Some(true) && lacks("enable_thinking") {
            let expected = "false: the model's chat template knows no such switch";
            return Err(Refusal::new(Code::RequestInvalid, "enable_thinking", expected, true));
        }
        if let Some(name) = self.args.extra.keys().find(|name| lacks(name)) {
            let what = format!("chat_template_kwargs.{name}");
            let expected = "a variable that the model's chat template reads";
            return Err(Refusal::new(Code::RequestInvalid, what, expected, "another one"));
        }
        template.render(&self.messages, &self.args)
    }
}

/// Messages as clients send back what they were sent: fields that hold nothing are left out.
fn cleaned(mut list: Value) -> Value {
    let empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    for message in list.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        let optional = ["refusal", "annotations", "audio", "function_call", "tool_calls", "content", "name"];
        message.retain(|key, value| !(optional.contains(&key.as_str()) && empty(value)));
    }
    list
}

/// Whether the model may reason, by whichever name it is said.
fn thinking(fields: &mut Fields, extra: &mut Map<String, Value>) -> Option<bool> {
    let top = fields.flag("enable_thinking");
    let inner = match extra.remove("enable_thinking") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(on)) => Some(on),
        Some(other) => {
            fields.refuse("chat_template_kwargs.enable_thinking", "true or false", brief(&other));
            None
        }
    };
    let effort = match fields.text("reasoning_effort").as_deref() {
        None => None,
        Some("none" | "minimal") => Some(false),
        Some("low" | "medium" | "high" | "xhigh") => Some(true),
        Some(other) => {
            fields.refuse("reasoning_effort", "none, minimal, low, medium, high or xhigh", other);
            None
        }
    };
    let said: Vec<bool> = [top, inner, effort].into_iter().flatten().collect();
    if said.windows(2).any(|pair| pair[0] != pair[1]) {
        fields.refuse("enable_thinking", "one answer wherever it is said", "both");
    }
    said.first().copied()
}

/// What `response_format` asks for.
#[derive(Debug)]
enum Format {
    Text,
    Schema(Value),
}

fn format(fields: &mut Fields) -> Format {
    let Some(mut format) = fields.object("response_format") else { return Format::Text };
    let kind = format.text("type");
    let wanted = match kind.as_deref() {
        Some("text") => Format::Text,
        Some("json_object") => Format::Schema(json!({"type": "object"})),
        Some("json_schema") => {
            let inner = format.object("json_schema");
            let schema = inner.and_then(|mut inner| {
                inner.name("name");
                inner.text("description");
                // Without it the schema is kept all the same.
                inner.flag("strict");
                let schema = inner.take("schema").filter(Value::is_object);
                let schema = inner.needed("schema", schema);
                format.absorb(inner);
                schema
            });
            Format::Schema(format.needed("json_schema", schema).unwrap_or(Value::Null))
        }
        other => {
            let got = other.unwrap_or("none").to_owned();
            format.refuse("type", "text, json_object or json_schema", got);
            Format::Text
        }
    };
    fields.absorb(format);
    wanted
}

/// A request for a chat completion.
#[derive(Debug)]
struct Chat {
    conversation: Conversation,
    params: Params,
    format: Format,
}

impl Chat {
    fn read(mut fields: Fields) -> Result<Self, Refusal> {
        let mut params = Params::read(&mut fields);
        let wanted = fields.flag("logprobs").unwrap_or(false);
        let top = fields.count("top_logprobs");
        if top.is_some() && !wanted {
            fields.refuse("top_logprobs", "nothing without logprobs", top.unwrap_or_default());
        }
        params.request.logprobs = wanted.then(|| u8::try_from(top.unwrap_or(0)).unwrap_or(u8::MAX));
        if let Some(modalities) = fields.take("modalities").filter(|m| *m != json!(["text"])) {
            fields.refuse("modalities", r#"["text"]"#, brief(&modalities));
        }
        let format = format(&mut fields);
        let conversation = Conversation::read(&mut fields)?;
        if matches!(format, Format::Schema(_)) && !conversation.tools.forced.is_empty() {
            fields.refuse("response_format", "text where a tool must be called", "a schema");
        }
        fields.close()?;
        Ok(Self { conversation, params, format })
    }

    /// The requests for the engine, and a choice for each.
    fn prepare(&self, ready: &Ready) -> Result<(Vec<Request>, Vec<Choice>), Refusal> {
        let prompt = self.conversation.render(ready)?;
        let ids = tokenizer(ready)?.encode_chat(&prompt)?;
        let tools = &self.conversation.tools;
        let mut requests: Vec<Request> = self.params.choices(&ids).collect();
        let grammar = self.grammar(ready, &prompt)?;
        for request in &mut requests {
            request.continuation = self.conversation.args.continue_final_message;
            request.grammar.clone_from(&grammar);
            // A grammar ends the reply by itself, and knows a tag within a string.
            let ends = grammar.is_some() && !request.ignore_eos;
            if !(tools.list.is_empty() || tools.parallel || ends) {
                request.stop.push(CALL_CLOSE.to_owned());
            }
        }
        let keeps_stop = self.params.request.include_stop;
        let choice = || {
            let splitter = ReasoningSplitter::new(&prompt);
            Choice::new(splitter, tools.parser(), ready.engine.tokenizer(), keeps_stop)
        };
        Ok((requests, (0..self.params.n).map(|_| choice()).collect()))
    }

    fn grammar(&self, ready: &Ready, prompt: &Prompt) -> Result<Option<Arc<dyn Grammar>>, Refusal> {
        let reasoning = if prompt.ends_inside("<think>", "</think>") {
            Reasoning::Opened
        } else if self.conversation.args.enable_thinking == Some(false) {
            Reasoning::None
        } else {
            Reasoning::Possible
        };
        let answer = match &self.format {
            Format::Text => None,
            Format::Schema(schema) => Some(schema),
        };
        match (self.conversation.tools.grammar(answer)?, answer) {
            (Some(rules), _) => ready.grammars.lark(rules, reasoning).map(Some),
            (None, Some(schema)) => ready.grammars.schema(schema.clone(), reasoning).map(Some),
            (None, None) => Ok(None),
        }
    }
}

pub(crate) async fn handle(State(app): State<Arc<App>>, body: Body) -> Result<Response, Failure> {
    let ready = app.ready()?;
    let mut fields = read(&app, body).await?;
    check_model(&app, &mut fields)?;
    let chat = Chat::read(fields)?;
    let stream = chat.params.stream;
    let with_logprobs = chat.params.request.logprobs.is_some();
    let preparing = Arc::clone(&ready);
    let (requests, choices) = aside(move || chat.prepare(&preparing)).await?;
    let replies = Replies::open(&app, &ready, requests)?;
    let head = Head {
        id: app.name("chatcmpl"),
        model: app.options.name.clone(),
        fingerprint: ready.fingerprint.clone(),
    };
    match stream {
        Some(usage) => {
            let per_prompt = choices.len();
            let shape = Chunks { head, created: now(), calls: vec![0; per_prompt], with_logprobs };
            Ok(stream::respond(&app, replies, choices, per_prompt, shape, usage))
        }
        None => whole(replies, choices, &head, with_logprobs).await,
    }
}

struct Head {
    id: String,
    model: String,
    fingerprint: String,
}

impl Head {
    fn json(&self, object: &str, created: u64) -> Value {
        json!({
            "id": self.id,
            "object": object,
            "created": created,
            "model": self.model,
            "system_fingerprint": self.fingerprint,
        })
    }

    /// The name of a call: no other of this server has it.
    fn call(&self, choice: usize, call: usize) -> String {
        format!("call_{}_{choice}_{call}", self.id.trim_start_matches("chatcmpl-"))
    }
}

/// The reply at once.
async fn whole(
    mut replies: Replies,
    mut choices: Vec<Choice>,
    head: &Head,
    with_logprobs: bool,
) -> Result<Response, Failure> {
    let created = now();
    let mut totals: Vec<Delta> = choices.iter().map(|_| Delta::default()).collect();
    while let Some((index, events)) = replies.next().await {
        for event in events? {
            totals[index].add(choices[index].event(event));
        }
    }
    let mut count = Count::default();
    let mut list = Vec::new();
    let mut timings = Value::Null;
    for (index, total) in totals.into_iter().enumerate() {
        let Some(end) = total.end.filter(|end| end.done.reason != FinishReason::Cancelled) else {
            return Err(Refusal::with_findings(Code::Cancelled, Vec::new()).into());
        };
        count.add(&end, index == 0);
        if index == 0 {
            let measured = end.done.timings;
            timings = json!({
                "prefill_seconds": measured.prefill.as_secs_f64(),
                "decode_seconds": measured.decode.as_secs_f64(),
                "first_token_seconds": measured.first_token.as_secs_f64(),
                "prefill_tokens_per_second": measured.prefill_rate(),
                "decode_tokens_per_second": measured.decode_rate(),
            });
        }
        let calls: Vec<Value> =
            total.calls.iter().enumerate().map(|(n, call)| call_json(call, &head.call(index, n))).collect();
        let content =
            if total.content.is_empty() && !calls.is_empty() { Value::Null } else { json!(total.content) };
        let mut message = json!({"role": "assistant", "content": content});
        if !total.reasoning.is_empty() {
            message["reasoning_content"] = json!(total.reasoning);
        }
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        let logprobs = if with_logprobs { json!({"content": total.logprobs}) } else { Value::Null };
        list.push(
            json!({"index": index, "message": message, "logprobs": logprobs, "finish_reason": end.reason}),
        );
    }
    let mut body = head.json("chat.completion", created);
    body["choices"] = json!(list);
    body["usage"] = count.json();
    body["timings"] = timings;
    Ok(json_response(StatusCode::OK, &body))
}

fn call_json(call: &Call, id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
}

/// The reply in chunks.
struct Chunks {
    head: Head,
    created: u64,
    /// Calls that each choice has made.
    calls: Vec<usize>,
    with_logprobs: bool,
}

impl Shape for Chunks {
    fn head(&self) -> Value {
        self.head.json("chat.completion.chunk", self.created)
    }

    fn chunks(&mut self, index: usize, first: bool, delta: &Delta) -> Vec<Value> {
        let chunk = |delta: Value, logprobs: Value, reason: Option<&str>| json!({"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": reason});
        let mut logprobs = Value::Null;
        if self.with_logprobs && !delta.logprobs.is_empty() {
            logprobs = json!({"content": delta.logprobs});
        }
        let mut chunks = Vec::new();
        if first {
            chunks.push(chunk(json!({"role": "assistant", "content": ""}), Value::Null, None));
        }
        if !delta.reasoning.is_empty() {
            chunks.push(chunk(json!({"reasoning_content": delta.reasoning}), logprobs.take(), None));
        }
        if !delta.content.is_empty() {
            chunks.push(chunk(json!({"content": delta.content}), logprobs.take(), None));
        }
        for call in &delta.calls {
            let n = self.calls[index];
            self.calls[index] += 1;
            let mut begun = call_json(call, &self.head.call(index, n));
            begun["index"] = json!(n);
            begun["function"]["arguments"] = json!("");
            chunks.push(chunk(json!({"tool_calls": [begun]}), logprobs.take(), None));
            let rest = json!({"index": n, "function": {"arguments": call.arguments}});
            chunks.push(chunk(json!({"tool_calls": [rest]}), Value::Null, None));
        }
        if let Some(end) = &delta.end {
            chunks.push(chunk(json!({}), logprobs.take(), Some(end.reason)));
        }
        chunks
    }
}

/// Takes the fields of a request, for tests.
#[cfg(test)]
pub(crate) fn take(fields: Fields) -> Result<(), Refusal> {
    Chat::read(fields).map(drop)
}
