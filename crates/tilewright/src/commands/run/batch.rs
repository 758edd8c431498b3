//! `run --batch`: many prompts from a file, their replies to another.
//!
//! Replies are made many at once and written in the order of the prompts, each as one whole line. Started again with the same
//! files, lines that are whole are kept and the rest is made; a line cut by a kill is made again. So nothing is lost, twice or
//! out of order, however often it was stopped. A reply carries the digest of its line: one to another prompt is never kept.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tilewright_engine::{Cancel, Event, Request, Sampling, Scheduler, SchedulerOptions, Session as Reply};
use tilewright_engine::{Code, Message, Refusal};

use crate::commands::prompting::{Prompter, Rendered};
use crate::commands::reply;
use crate::commands::session::Session;
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::{Frame, Limits, ModelChoice, Prompt, Reasoning, TemplateChoice, read_text};
use crate::interrupt::Interrupt;

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
        let (mut file, before) = open(&self.output, &lines)?;

        let session = Session::open(self.model, console)?;
        let options =
            SchedulerOptions { parallel: self.parallel, queue: self.parallel, ..SchedulerOptions::default() };
        let scheduler = Scheduler::start(&session.engine, options)?;
        let guard = interrupt.guard(cancel);
        let (mut running, mut refused) = (VecDeque::new(), 0);
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
                let mut object = match whole {
                    Ok(None) => return Err(Failure::Interrupted),
                    Ok(Some(object)) => object,
                    Err(refusal) => {
                        refused += 1;
                        Map::from_iter([("refusal".to_owned(), json!(refusal))])
                    }
                };
                object.insert("line".to_owned(), json!(line));
                object.insert("id".to_owned(), id);
                object.insert("line_sha256".to_owned(), json!(digest(lines[line])));
                let text = format!("{}\n", Value::Object(object));
                file.write_all(text.as_bytes()).map_err(|error| unwritable(&self.output, error))?;
                done += 1;
                bar.report(done as u64, lines.len() as u64);
            }
        }
        drop(guard);
        file.sync_all().map_err(|error| unwritable(&self.output, error))?;
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
}

fn unwritable(path: &Path, error: impl std::fmt::Display) -> Refusal {
    Refusal::new(Code::FileUnwritable, "replies", "a file that can be written", error).at(path.display())
}

/// Opens the file of replies after its last whole line; also, how many there are.
fn open(path: &Path, lines: &[&str]) -> Result<(File, usize), Refusal> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|error| unwritable(path, error))?;
    let mut text = String::new();
    let other = |got: String| {
        let expected = "a new file, or the one of this batch that was stopped";
        Refusal::new(Code::OutputExists, "replies", expected, got).at(path.display())
    };
    file.read_to_string(&mut text).map_err(|error| other(error.to_string()))?;
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let mut count = 0;
    for line in text[..whole].lines() {
        let found: Value = serde_json::from_str(line).map_err(|error| other(error.to_string()))?;
        let prompt = lines.get(count).map(|line| json!(digest(line)));
        if found["line"] != json!(count) || Some(&found["line_sha256"]) != prompt.as_ref() {
            return Err(other(format!("line {count} answers another prompt")));
        }
        count += 1;
    }
    file.set_len(whole as u64).map_err(|error| unwritable(path, error))?;
    file.seek(std::io::SeekFrom::End(0)).map_err(|error| unwritable(path, error))?;
    Ok((file, count))
}

/// The digest of a line of prompts, by which its reply is known again.
fn digest(line: &str) -> String {
    Sha256::digest(line).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The id and prompt of a line.
fn read(line: &str, frame: &Frame) -> (Value, Result<Prompt, Refusal>) {
    let invalid = |expected: &str, got: String| Refusal::new(Code::RequestInvalid, "line", expected, got);
    let object = match serde_json::from_str::<Value>(line) {
        Ok(Value::Object(object)) => object,
        Ok(other) => return (Value::Null, Err(invalid("a JSON object", other.to_string()))),
        Err(error) => return (Value::Null, Err(invalid("a JSON object", error.to_string()))),
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
                    object
                }));
            }
        };
        text.push_str(&parts.answer);
        thoughts.push_str(&parts.reasoning);
    }
    Ok(None)
}
