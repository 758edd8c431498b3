//! `run --batch`: many prompts from a file, their replies to another.
//!
//! Replies are made many at once and written in the order of the prompts, each as one whole line. Started again with the same
//! files, lines that are whole are kept and the rest is made; a line cut by a kill is made again. So nothing is lost, twice or
//! out of order, however often it was stopped.

mod replies;

use std::collections::VecDeque;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use tilewright_engine::{Cancel, Event, Request, Sampling, Scheduler, SchedulerOptions, Session as Reply};
use tilewright_engine::{Code, Message, OpenOptions, Refusal};
use tilewright_model::json;

use crate::commands::prompting::{Prompter, Rendered};
use crate::commands::session::Session;
use crate::commands::{describe, reply};
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::{Frame, Limits, ModelChoice, Prompt, Reasoning, TemplateChoice, read_text};
use crate::interrupt::Interrupt;

use replies::{Mark, Replies};

/// What the arguments mean.
pub(super) struct Batch {
    pub(super) input: PathBuf,
    pub(super) output: PathBuf,
    pub(super) frame: Frame,
    pub(super) parallel: usize,
    pub(super) template: TemplateChoice,
    pub(super) model: ModelChoice,
    pub(super) sampling: Sampling,
    pub(super) limits: Limits,
    pub(super) logprobs: Option<u8>,
}

/// A line on its way.
struct Running {
    line: usize,
    id: Value,
    reply: Result<(Reply, Rendered), Refusal>,
}

impl Batch {
    /// Carries the batch out.
    pub(super) fn run(self, interrupt: &Interrupt, console: &mut Console) -> Result<(), Failure> {
        let text = read_text(&self.input)?;
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let cancel = Cancel::default();
        let request = Request {
            logprobs: self.logprobs,
            ..self.limits.request(Vec::new(), self.sampling.clone(), cancel.clone())
        };
        request.check()?;
        let marks: Vec<Mark> = lines.iter().map(|line| Mark::of(line, &self.settings())).collect();
        let mut replies = Replies::open(&self.output, &marks)?;
        let before = replies.whole();

        let session = Session::open(self.model, console)?;
        let options =
            SchedulerOptions { parallel: self.parallel, queue: self.parallel, ..SchedulerOptions::default() };
        let scheduler = Scheduler::start(&session.engine, options)?;
        let guard = interrupt.guard(cancel);
        let (mut running, mut refused) = (VecDeque::new(), replies.refused());
        {
            let bar = console.bar("replies");
            let mut prompter = Prompter::new(self.template.clone(), &session, console);
            let mut todo = lines.iter().enumerate().skip(before);
            let mut done = before;
            loop {
                while running.len() < 2 * self.parallel
                    && let Some((line, text)) = todo.next()
                {
                    let (id, prompt) = read(text, &self.frame);
                    let reply = prompt.and_then(|prompt| {
                        let rendered = prompter.render(prompt)?;
                        let (ids, continuation) = (rendered.ids.clone(), rendered.continuation);
                        let request = Request { prompt: ids, continuation, ..request.clone() };
                        Ok((scheduler.open(request)?, rendered))
                    });
                    running.push_back(Running { line, id, reply });
                }
                let Some(Running { line, id, reply }) = running.pop_front() else { break };
                let whole = reply.and_then(|(reply, rendered)| {
                    collect(reply, rendered, self.template.reasoning, &session)
                });
                let object = match whole {
                    Ok(None) => return Err(Failure::Interrupted),
                    Ok(Some(object)) => object,
                    Err(refusal) => {
                        refused += 1;
                        Map::from_iter([("refusal".to_owned(), json!(refusal))])
                    }
                };
                replies.append(&marks[line], id, object)?;
                done += 1;
                bar.report(done as u64, lines.len() as u64);
            }
        }
        drop(guard);
        replies.finish()?;
        let (all, output) = (lines.len(), self.output.display());
        console.notice(
            "done",
            &format!("{all} lines in {output}, {before} of them from before, {refused} refused"),
        );
        if console.json() {
            console.object(&json!({"lines": all, "before": before, "refused": refused}))?;
        }
        if refused > 0 { Err(Failure::Negative) } else { Ok(()) }
    }

    /// Everything but the prompt that a reply depends on, as text of no particular form.
    fn settings(&self) -> String {
        let Self { frame, template, sampling, limits, logprobs, .. } = self;
        let ModelChoice { source, options } = &self.model;
        let OpenOptions { device, weights, kv, numerics, context, .. } = options;
        format!(
            "{source:?} {device:?} {weights:?} {kv:?} {numerics:?} {context:?} {frame:?} {template:?} {sampling:?} {limits:?} {logprobs:?}"
        )
    }
}

/// The id and prompt of a line.
fn read(line: &str, frame: &Frame) -> (Value, Result<Prompt, Refusal>) {
    let invalid = |expected: &str, got: String| Refusal::new(Code::RequestInvalid, "line", expected, got);
    let object = match json::object(line.as_bytes()) {
        Ok(object) => object,
        Err(error) => return (Value::Null, Err(invalid("a JSON object", error))),
    };
    let id = object.get("id").cloned().unwrap_or(Value::Null);
    let fields: Vec<(&str, &Value)> =
        object.iter().map(|(key, value)| (key.as_str(), value)).filter(|(key, _)| *key != "id").collect();
    let prompt = match fields.as_slice() {
        [("prompt", Value::String(text))] => Ok(frame.prompt(text.clone())),
        [("messages", list)] if frame.system.is_none() => Message::list_from_json(list).map(Prompt::Chat),
        [("ids", Value::Array(list))] => list
            .iter()
            .map(|id| u32::try_from(id.as_u64()?).ok())
            .collect::<Option<_>>()
            .map(Prompt::Ids)
            .ok_or_else(|| invalid("ids", "something else".to_owned())),
        other => {
            let keys: Vec<&str> = other.iter().map(|(key, _)| *key).collect();
            let expected = "one of prompt (text), messages (without --system) and ids, and an id if wanted";
            Err(invalid(expected, keys.join(", ")))
        }
    };
    (id, prompt)
}

/// A reply as an object; `None` when it was cancelled.
fn collect(
    reply: Reply,
    mut rendered: Rendered,
    reasoning: Reasoning,
    session: &Session,
) -> Result<Option<Map<String, Value>>, Refusal> {
    let (mut text, mut thoughts, mut tokens) = (String::new(), String::new(), Vec::new());
    let sampling = describe::sampling_json(reply.sampling());
    for event in reply {
        let parts = match event? {
            Event::Prefill { .. } => continue,
            Event::Token(token) => {
                tokens.push(token);
                continue;
            }
            Event::Text(piece) if reasoning == Reasoning::Show => {
                text.push_str(&piece);
                continue;
            }
            Event::Text(piece) => rendered.splitter.push(&piece),
            Event::Done(done) => {
                let rest = rendered.splitter.finish();
                text.push_str(&rest.answer);
                thoughts.push_str(&rest.reasoning);
                let reasoning = (reasoning == Reasoning::Split).then_some(thoughts);
                let reply = reply::Reply { text, reasoning, tokens, done };
                let object = (!reply.cancelled()).then(|| reply.json(session.engine.tokenizer()));
                return Ok(object.map(|mut object| {
                    object.remove("peak_memory_bytes");
                    object.insert("sampling".to_owned(), sampling);
                    object
                }));
            }
        };
        text.push_str(&parts.answer);
        thoughts.push_str(&parts.reasoning);
    }
    Ok(None)
}
