//! From messages to the text a model was trained on.
//!
//! A chat template is a Jinja program published with a model. It is rendered as the reference does it: the settings,
//! functions and filters of Hugging Face, byte for byte. Constructs that cannot work are refused when the template is
//! loaded, with their line ([`Code::TemplateInvalid`]); so is what it raises while rendering. Work, memory, nesting and
//! time of a template are bounded.
//!
//! [`Prompt`] is the rendered text with the places that came from messages, so that
//! [`Tokenizer::encode_chat`] gives control ids only where the template wrote them; `docs/chat-templates.md` tells
//! how.
//!
//! Deliberately absent: other templates by name (`include`, `import`, `extends`), and Python's way of writing very
//! large or small floats and the quotes of strings in lists where `~` or `join` turns them into text.

mod audit;
mod clock;
mod environment;
mod limits;
mod message;
mod prompt;
mod python;
mod shield;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use minijinja::Environment;
use minijinja::value::Serde;
use serde_json::{Map, Value, json};

pub use self::message::{ChatRole, Message};
pub use self::prompt::Prompt;

use self::environment::NAME;
use self::limits::Lost;
use self::shield::Shield;
use crate::{Checkpoint, Code, Finding, NamedTokens, Refusal, Tokenizer};

/// What to render besides the messages.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderArgs {
    /// Whether the prompt ends with the header of the reply.
    pub add_generation_prompt: bool,
    /// Whether the model may reason; `None` leaves it to the template.
    pub enable_thinking: Option<bool>,
    /// Tools the model may call, each as the JSON schema object its template expects.
    pub tools: Vec<Value>,
    /// Whether the prompt ends within the last message, an assistant's, for the model to continue.
    pub continue_final_message: bool,
    /// Further variables of the template.
    pub extra: Map<String, Value>,
    /// The time for `strftime_now`, in seconds since 1970 (UTC); `None` takes the clock's.
    pub now: Option<u64>,
}

impl Default for RenderArgs {
    /// The header of the reply, and all else left to the template.
    fn default() -> Self {
        Self {
            add_generation_prompt: true,
            enable_thinking: None,
            tools: Vec::new(),
            continue_final_message: false,
            extra: Map::new(),
            now: None,
        }
    }
}

/// A chat template, ready to render.
#[derive(Debug)]
pub struct ChatTemplate {
    compiled: Arc<Compiled>,
    /// Time for one rendering.
    time: Duration,
    /// Whether a rendering went on for ever once. It still does, so there is no second one.
    endless: AtomicBool,
}

/// What renderings share.
#[derive(Debug)]
struct Compiled {
    place: String,
    source: String,
    env: Environment<'static>,
    examined: Vec<Range<usize>>,
    edges: Vec<char>,
    named: NamedTokens,
}

impl ChatTemplate {
    /// Compiles `source` for the models of `tokenizer`. `place` says where the text came from.
    ///
    /// # Errors
    /// [`Code::TemplateInvalid`] with the line of everything that cannot work.
    pub fn new(source: &str, tokenizer: &Tokenizer, place: &str) -> Result<Self, Refusal> {
        let source = without_generation_tags(source);
        let invalid = |findings| Refusal::with_findings(Code::TemplateInvalid, findings).at(place);
        if source.len() > limits::SOURCE {
            let expected = format!("at most {} bytes", limits::SOURCE);
            return Err(invalid(vec![Finding::new("template", expected, source.len())]));
        }
        let text = source.clone();
        let compile = move || {
            let mut env = environment::environment()?;
            env.add_template_owned(NAME, text.clone())?;
            let audit = audit::audit(&text, &env);
            Ok((env, audit))
        };
        let (env, audit) = limits::with_stack(source.len(), 0, limits::TIME, compile)
            .map_err(|lost| invalid(vec![Finding::new("template", "room and time to compile it", lost)]))?
            .map_err(|error: minijinja::Error| invalid(vec![finding(&error)]))?;
        if !audit.findings.is_empty() {
            return Err(invalid(audit.findings));
        }
        let compiled = Arc::new(Compiled {
            place: place.to_owned(),
            source,
            env,
            examined: audit.examined,
            edges: shield::edges(tokenizer.control_texts()),
            named: tokenizer.named().clone(),
        });
        Ok(Self { compiled, time: limits::TIME, endless: AtomicBool::new(false) })
    }

    /// The template of a checkpoint, `None` if it has none. [`TemplateSource`](crate::TemplateSource) tells which of
    /// several is taken.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_checkpoint(checkpoint: &Checkpoint, tokenizer: &Tokenizer) -> Result<Option<Self>, Refusal> {
        let found = checkpoint.chat_template();
        found.map(|(text, source)| Self::new(text, tokenizer, &source.to_string())).transpose()
    }

    /// The template in a file.
    ///
    /// # Errors
    /// [`Code::FileUnreadable`] when the file cannot be read as text, else as [`new`](Self::new).
    pub fn from_file(path: &Path, tokenizer: &Tokenizer) -> Result<Self, Refusal> {
        let place = path.display().to_string();
        let unreadable =
            |error| Refusal::new(Code::FileUnreadable, "template", "a text file", error).at(&place);
        let source = std::fs::read_to_string(path).map_err(unreadable)?;
        Self::new(&source, tokenizer, &place)
    }

    /// Where the template came from.
    pub fn place(&self) -> &str {
        &self.compiled.place
    }

    /// The text of the template.
    pub fn source(&self) -> &str {
        &self.compiled.source
    }

    /// Whether its text names the variable at all: what it never looks at cannot be meant.
    pub fn names(&self, variable: &str) -> bool {
        self.compiled.source.contains(variable)
    }

    /// Renders a conversation.
    ///
    /// # Errors
    /// [`Code::TemplateInvalid`] when rendering fails, with what the template raises;
    /// [`Code::MessageInvalid`] when the arguments contradict each other;
    /// [`Code::ContentUnprotected`] when content cannot be told from template.
    pub fn render(&self, messages: &[Message], args: &RenderArgs) -> Result<Prompt, Refusal> {
        let compiled = &self.compiled;
        compiled.check(messages, args)?;
        let lost = |lost| {
            let finding = Finding::new("template", "room and time to render it", lost);
            Refusal::with_findings(Code::TemplateInvalid, vec![finding]).at(&compiled.place)
        };
        if self.endless.load(Ordering::Relaxed) {
            return Err(lost(Lost::Endless(self.time)));
        }
        let data = data(messages, args);
        let fuel = limits::fuel(messages.len(), Value::Object(data.clone()).to_string().len());
        let here = Arc::clone(compiled);
        let (messages, args) = (messages.to_vec(), args.clone());
        let work = move || here.render(&messages, &data, &args, fuel);
        limits::with_stack(compiled.source.len(), fuel, self.time, work)
            .inspect_err(|found| {
                self.endless.fetch_or(matches!(found, Lost::Endless(_)), Ordering::Relaxed);
            })
            .map_err(lost)?
    }
}

impl Compiled {
    /// Renders on this thread.
    fn render(
        &self,
        messages: &[Message],
        data: &Map<String, Value>,
        args: &RenderArgs,
        fuel: u64,
    ) -> Result<Prompt, Refusal> {
        let fixed = self.fixed(args);
        let mut env = self.env.clone();
        env.set_fuel(Some(fuel));
        environment::set_clock(&mut env, args.now.unwrap_or_else(seconds_now));
        let text = run(&env, &self.source, data, &fixed).map_err(|error| {
            Refusal::with_findings(Code::TemplateInvalid, vec![finding(&error)]).at(&self.place)
        })?;
        let protected = self.protected(&env, &text, data, &fixed)?;
        let prompt = Prompt::new(text, protected);
        match messages.last() {
            Some(last) if args.continue_final_message => {
                prompt.continue_from(&last.content).ok_or_else(|| {
                    let expected = "its text in the rendered prompt, so that it can be continued";
                    Refusal::new(Code::MessageInvalid, "last message", expected, "none").at(&self.place)
                })
            }
            _ => Ok(prompt),
        }
    }

    /// The spans of `text` that came from the conversation.
    fn protected(
        &self,
        env: &Environment<'_>,
        text: &str,
        data: &Map<String, Value>,
        fixed: &Map<String, Value>,
    ) -> Result<Vec<Range<usize>>, Refusal> {
        if !data.values().any(|value| shield::has_edge(value, &self.edges)) {
            return Ok(Vec::new());
        }
        let written = Value::Object(data.clone()).to_string();
        let shield = Shield::new(&self.edges, &[&written, &self.source, text]);
        // Names of variables are the template's own words; only what they hold is marked.
        let marked: Map<String, Value> =
            data.iter().map(|(name, value)| (name.clone(), shield.mark_value(value))).collect();
        // First as if every examined string were content, then as if none were.
        [shield.mark_parts(&self.source, &self.examined), self.source.clone()]
            .iter()
            .filter_map(|source| run(env, source, &marked, fixed).ok())
            .find_map(|rendered| shield.spans(text, &rendered))
            .ok_or_else(|| {
                let expected = "content that the template passes on or cuts";
                let got = "content whose control strings decide what the template writes";
                Refusal::new(Code::ContentUnprotected, "messages", expected, got).at(&self.place)
            })
    }

    /// Refuses arguments that contradict each other.
    fn check(&self, messages: &[Message], args: &RenderArgs) -> Result<(), Refusal> {
        let mut findings = Vec::new();
        if messages.is_empty() {
            findings.push(Finding::new("messages", "at least one message", "none"));
        }
        if args.continue_final_message {
            if args.add_generation_prompt {
                findings.push(Finding::new("continue_final_message", "no add_generation_prompt", "both"));
            }
            if let Some(last) = messages.last().filter(|last| last.role != ChatRole::Assistant) {
                let expected = "a last message of the assistant";
                findings.push(Finding::new("continue_final_message", expected, last.role.name()));
            }
        }
        let fixed = self.fixed(args);
        for name in args.extra.keys().filter(|name| fixed.contains_key(*name) || OWN.contains(&name.as_str()))
        {
            findings.push(Finding::new(
                format!("template argument {name}"),
                "a name not in use",
                "one in use",
            ));
        }
        Refusal::check(Code::MessageInvalid, findings)
    }

    /// Variables that are not content: the named tokens and the switches.
    fn fixed(&self, args: &RenderArgs) -> Map<String, Value> {
        let mut fixed = Map::new();
        fixed.insert("add_generation_prompt".to_owned(), json!(args.add_generation_prompt));
        if let Some(enabled) = args.enable_thinking {
            fixed.insert("enable_thinking".to_owned(), json!(enabled));
        }
        let named = &self.named;
        let tokens = [
            ("bos_token", &named.bos),
            ("eos_token", &named.eos),
            ("pad_token", &named.pad),
            ("unk_token", &named.unk),
        ];
        for (name, token) in tokens {
            if let Some(token) = token {
                fixed.insert(name.to_owned(), json!(token));
            }
        }
        fixed
    }
}

/// Variables that are content.
const OWN: [&str; 3] = ["messages", "tools", "documents"];

/// Variables that come from the request.
fn data(messages: &[Message], args: &RenderArgs) -> Map<String, Value> {
    let mut data = args.extra.clone();
    data.insert("messages".to_owned(), messages.iter().map(Message::to_value).collect());
    let tools = if args.tools.is_empty() { Value::Null } else { args.tools.clone().into() };
    data.insert("tools".to_owned(), tools);
    data.insert("documents".to_owned(), Value::Null);
    data
}

/// Renders `source`.
fn run(
    env: &Environment<'_>,
    source: &str,
    data: &Map<String, Value>,
    fixed: &Map<String, Value>,
) -> Result<String, minijinja::Error> {
    let context: Map<String, Value> =
        data.iter().chain(fixed).map(|(name, value)| (name.clone(), value.clone())).collect();
    env.render_named_str(NAME, source, minijinja::Value::from(Serde(context)))
}

/// What the engine says, with the line.
fn finding(error: &minijinja::Error) -> Finding {
    let what = error.line().map_or_else(|| "template".to_owned(), |line| format!("line {line}"));
    let mut got = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        got = format!("{got}; {inner}");
        cause = inner.source();
    }
    Finding::new(what, "a template that renders", got)
}

/// `{% generation %}` marks what the model wrote, for training. Here it is a scope without a meaning of its own.
fn without_generation_tags(source: &str) -> String {
    let mut out = String::new();
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        let (before, tag) = rest.split_at(start + 2);
        out.push_str(before);
        let end = tag.find("%}").unwrap_or(tag.len());
        let inner = &tag[..end];
        let word = inner.trim_matches(['-', '+']).trim();
        out.push_str(&match word {
            "generation" => inner.replacen(word, "with", 1),
            "endgeneration" => inner.replacen(word, "endwith", 1),
            _ => inner.to_owned(),
        });
        rest = &tag[end..];
    }
    out + rest
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
