//! One reply, from the engine to the console.

use serde_json::{Map, Value, json};
use tilewright_engine::{
    Done, Event, FinishReason, Generation, Parts, ReasoningSplitter, Stop, Token, Tokenizer,
};

use crate::commands::session::Session;
use crate::console::{Console, bytes, rate};
use crate::exit::Failure;
use crate::flags::Reasoning;
use crate::memory;

/// A finished reply.
pub(crate) struct Reply {
    /// The text of the answer; with `--reasoning show`, of everything.
    pub text: String,
    /// The text of the reasoning block, where it was split off or hidden.
    pub reasoning: Option<String>,
    /// Every token, an end token included.
    pub tokens: Vec<Token>,
    /// How it ended.
    pub done: Done,
}

/// Writes a reply as it is generated and returns it whole.
///
/// Without a tokenizer there is no text: ids are written, separated by commas, as `--ids` reads them.
pub(crate) fn stream(
    generation: Generation<'_>,
    (splitter, reasoning): (ReasoningSplitter, Reasoning),
    session: &Session,
    console: &mut Console,
) -> Result<Reply, Failure> {
    let splitter = (reasoning != Reasoning::Show).then_some((splitter, reasoning));
    let mut writer = Writer { console, splitter, text: String::new(), reasoning: String::new() };
    let mut tokens = Vec::new();
    for event in generation {
        match event? {
            Event::Prefill { done, total } => tracing::debug!(done, total, "prefill"),
            Event::Text(piece) => writer.piece(&piece)?,
            Event::Token(token) => {
                if !session.readable() {
                    let comma = if tokens.is_empty() { "" } else { "," };
                    writer.write(&format!("{comma}{}", token.id))?;
                }
                tokens.push(token);
            }
            Event::Done(done) => {
                writer.finish()?;
                let reasoning = writer.splitter.is_some().then_some(writer.reasoning);
                return Ok(Reply { text: writer.text, reasoning, tokens, done });
            }
        }
    }
    // The engine ends every generation with `Done` or a refusal.
    Err(Failure::Negative)
}

struct Writer<'c> {
    console: &'c mut Console,
    splitter: Option<(ReasoningSplitter, Reasoning)>,
    text: String,
    reasoning: String,
}

impl Writer<'_> {
    fn piece(&mut self, piece: &str) -> Result<(), Failure> {
        let parts = match &mut self.splitter {
            None => Parts { answer: piece.to_owned(), ..Parts::default() },
            Some((splitter, _)) => splitter.push(piece),
        };
        self.parts(parts)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        match &mut self.splitter {
            None => Ok(()),
            Some((splitter, _)) => {
                let parts = splitter.finish();
                self.parts(parts)
            }
        }
    }

    fn parts(&mut self, parts: Parts) -> Result<(), Failure> {
        let aside = matches!(self.splitter, Some((_, Reasoning::Split)));
        if aside && !parts.reasoning.is_empty() {
            self.console.aside(&parts.reasoning);
        }
        if aside && !parts.answer.is_empty() && self.text.is_empty() && !self.reasoning.is_empty() {
            self.console.aside("\n");
        }
        self.reasoning.push_str(&parts.reasoning);
        self.text.push_str(&parts.answer);
        self.write(&parts.answer)
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() || self.console.json() { Ok(()) } else { self.console.text(text) }
    }
}

impl Reply {
    /// Whether Ctrl-C ended it.
    pub(crate) fn cancelled(&self) -> bool {
        self.done.reason == FinishReason::Cancelled
    }

    /// Ends the last line of the text, unless the reply did so itself.
    pub(crate) fn end(&self, console: &mut Console) -> Result<(), Failure> {
        if console.json() || self.text.ends_with('\n') { Ok(()) } else { console.text("\n") }
    }

    /// The last line on standard error: counts, rates, peak memory, why it ended.
    pub(crate) fn report(&self, console: &Console, max_tokens: Option<usize>) {
        let Done { reason, usage, timings } = &self.done;
        let cached = match usage.cached_tokens {
            0 => String::new(),
            n => format!(" ({n} cached)"),
        };
        let peak = memory::peak().map_or("not known".to_owned(), bytes);
        let ended = match (reason, max_tokens) {
            (FinishReason::Stop(Stop::Id(id)), _) => format!("finish: stop at token {id}"),
            (FinishReason::Stop(Stop::Text(text)), _) => format!("finish: stop at {text:?}"),
            (FinishReason::Cancelled, _) => "finish: cancelled, the reply is cut".to_owned(),
            (FinishReason::Length, Some(_)) => {
                "finish: length, the reply is cut; raise --max-tokens".to_owned()
            }
            (FinishReason::Length, None) => "finish: length, the context is full; raise --ctx".to_owned(),
        };
        console.notice(
            "done",
            &format!(
                "prompt {} tokens{cached}, {} · reply {} tokens, {} · peak memory {peak} · {ended}",
                usage.prompt_tokens,
                rate(timings.prefill_rate()),
                usage.completion_tokens,
                rate(timings.decode_rate()),
            ),
        );
    }

    /// The reply for machines: text, tokens, how it ended, counts, times.
    pub(crate) fn json(&self, tokenizer: Option<&Tokenizer>) -> Map<String, Value> {
        let Done { reason, usage, timings } = &self.done;
        let stop = match reason {
            FinishReason::Stop(Stop::Id(id)) => json!({"id": id}),
            FinishReason::Stop(Stop::Text(text)) => json!({"text": text}),
            FinishReason::Length | FinishReason::Cancelled => Value::Null,
        };
        let mut object = Map::new();
        object.insert("text".into(), self.text.clone().into());
        if let Some(reasoning) = &self.reasoning {
            object.insert("reasoning".into(), reasoning.clone().into());
        }
        object.insert("ids".into(), self.tokens.iter().map(|t| t.id).collect::<Vec<_>>().into());
        if self.tokens.iter().any(|t| t.logprobs.is_some()) {
            object.insert(
                "logprobs".into(),
                self.tokens.iter().map(|token| logprobs(token, tokenizer)).collect(),
            );
        }
        object.insert("finish_reason".into(), reason.name().into());
        object.insert("stop".into(), stop);
        object.insert(
            "usage".into(),
            json!({
                "prompt_tokens": usage.prompt_tokens,
                "cached_tokens": usage.cached_tokens,
                "completion_tokens": usage.completion_tokens,
                "total_tokens": usage.total_tokens(),
            }),
        );
        object.insert(
            "timings".into(),
            json!({
                "prefilled": timings.prefilled,
                "prefill_seconds": timings.prefill.as_secs_f64(),
                "prefill_tokens_per_second": timings.prefill_rate(),
                "decoded": timings.decoded,
                "decode_seconds": timings.decode.as_secs_f64(),
                "decode_tokens_per_second": timings.decode_rate(),
                "first_token_seconds": timings.first_token.as_secs_f64(),
            }),
        );
        object.insert("peak_memory_bytes".into(), memory::peak().into());
        object
    }
}

/// The log-probabilities of a token: its own, then those of the most likely ones. Where a token is a part of a
/// character its text has the replacement mark.
fn logprobs(token: &Token, tokenizer: Option<&Tokenizer>) -> Value {
    let entry = |id: u32, logprob: f64| {
        let bytes = tokenizer.and_then(|tokenizer| tokenizer.token_bytes(id));
        let text = bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        json!({"id": id, "text": text, "logprob": logprob})
    };
    let Some(logprobs) = &token.logprobs else { return Value::Null };
    let top: Vec<Value> = logprobs.top.iter().map(|other| entry(other.id, other.logprob)).collect();
    let mut own = entry(token.id, logprobs.chosen);
    own["top"] = top.into();
    own
}
