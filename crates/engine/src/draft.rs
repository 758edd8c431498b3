//! A reply as it grows: what was chosen, what of its text is certain, whether it has ended.
//!
//! No device here. Whoever drives one hands over the logits after the latest token and asks what to append next.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tilewright_model::Refusal;

use crate::grammar::Constraint;
use crate::request::Checked;
use crate::sampling::{self, Sampler, SamplingSet};
use crate::stopping::ReplyText;
use crate::{Cancel, Done, Engine, Event, FinishReason, Request, Stop, Timings, Token, Usage};

/// One reply without its device.
pub(crate) struct Draft {
    engine: Engine,
    checked: Checked,
    sampler: Sampler,
    constraint: Option<Box<dyn Constraint>>,
    reply: ReplyText,
    ready: VecDeque<Event>,
    usage: Usage,
    /// What was measured so far; drivers add to it.
    pub(crate) timings: Timings,
    started: Option<Instant>,
    /// The latest token of the reply.
    latest: Option<u32>,
    ended: bool,
}

impl Draft {
    /// An empty reply.
    ///
    /// # Errors
    /// Why the grammar cannot be begun.
    pub(crate) fn new(engine: &Engine, checked: Checked) -> Result<Self, Refusal> {
        let prompt = &checked.request.prompt;
        let constraint = checked.request.grammar.as_ref().map(|grammar| grammar.begin()).transpose()?;
        Ok(Self {
            sampler: Sampler::new(checked.sampling.clone(), prompt, engine.tokens().clone()),
            constraint,
            reply: ReplyText::new(engine.tokenizer(), &checked.request, &checked.stop_strings),
            ready: VecDeque::new(),
            usage: Usage { prompt_tokens: prompt.len(), ..Usage::default() },
            timings: Timings::default(),
            started: None,
            latest: None,
            ended: false,
            engine: engine.clone(),
            checked,
        })
    }

    /// What was asked.
    pub(crate) fn request(&self) -> &Request {
        &self.checked.request
    }

    /// Stops the reply.
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.checked.request.cancel
    }

    /// The sampling settings in effect.
    pub(crate) fn sampling(&self) -> &SamplingSet {
        &self.checked.sampling
    }

    /// The most tokens the reply can have.
    pub(crate) fn max_tokens(&self) -> usize {
        self.checked.max_tokens
    }

    /// Tokens it may still get.
    pub(crate) fn left(&self) -> usize {
        self.checked.max_tokens - self.usage.completion_tokens
    }

    /// Ids that end it.
    pub(crate) fn stop_ids(&self) -> &[u32] {
        &self.checked.stop_ids
    }

    /// The latest token; `None` before the first.
    pub(crate) fn latest(&self) -> Option<u32> {
        self.latest
    }

    /// Whether it has ended.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Takes the time of the first token from now on, unless that began already.
    pub(crate) fn start(&mut self) {
        self.started.get_or_insert_with(Instant::now);
    }

    /// How many tokens of the prompt were in the cache already.
    pub(crate) fn reused(&mut self, tokens: usize) {
        self.usage.cached_tokens = tokens;
    }

    /// Counts a decode step.
    pub(crate) fn decoded(&mut self, time: Duration) {
        self.timings.decode += time;
        self.timings.decoded += 1;
    }

    /// Reports how much of the prompt is taken in.
    pub(crate) fn prefilled(&mut self, done: usize) {
        let total = self.usage.prompt_tokens;
        self.ready.push_back(Event::Prefill { done: done.min(total), total });
    }

    /// Whether the next tokens are the greatest logits' ids and nothing else is asked of the logits.
    pub(crate) fn is_plain(&self) -> bool {
        let request = &self.checked.request;
        let free = self.usage.completion_tokens >= request.min_tokens || self.checked.stop_ids.is_empty();
        free && request.logprobs.is_none() && self.constraint.is_none() && self.sampler.is_plain()
    }

    /// Picks the next token from the logits after the latest, `[vocab]`.
    ///
    /// # Errors
    /// `non_finite_logits`, or why the grammar cannot go on.
    pub(crate) fn choose(&mut self, logits: &[f32]) -> Result<(), Refusal> {
        let began = Instant::now();
        let early = self.usage.completion_tokens < self.checked.request.min_tokens;
        let banned: &[u32] = if early { &self.checked.stop_ids } else { &[] };
        let id = match &mut self.constraint {
            Some(constraint) => {
                let id = self.sampler.pick_among(logits, banned, constraint.allowed()?)?;
                constraint.accept(id)?;
                id
            }
            None => self.sampler.pick(logits, banned)?,
        };
        let logprobs = self
            .checked
            .request
            .logprobs
            .map(|count| sampling::logprobs(logits, id, count.into(), self.engine.tokens()));
        if self.latest.is_some() {
            self.timings.decode += began.elapsed();
        }
        self.accept(Token { id, logprobs })
    }

    /// Takes a token that the device picked by itself.
    ///
    /// # Errors
    /// That of the tokenizer.
    pub(crate) fn take(&mut self, id: u32) -> Result<(), Refusal> {
        self.sampler.note(id);
        self.accept(Token { id, logprobs: None })
    }

    /// Reports a token and the text that became certain with it, and decides whether the reply ends.
    fn accept(&mut self, token: Token) -> Result<(), Refusal> {
        let id = token.id;
        if self.latest.is_none() {
            self.timings.first_token = self.started.map_or(Default::default(), |at| at.elapsed());
        }
        self.ready.push_back(Event::Token(token));
        self.usage.completion_tokens += 1;
        self.latest = Some(id);

        let request = &self.checked.request;
        if self.checked.stop_ids.binary_search(&id).is_ok() {
            if request.include_stop {
                let (text, _) = self.reply.push(id, false)?;
                self.say(text);
            }
            self.end(FinishReason::Stop(Stop::Id(id)));
            return Ok(());
        }
        let searched = self.usage.completion_tokens > request.min_tokens;
        let (text, found) = self.reply.push(id, searched)?;
        self.say(text);
        if let Some(stop) = found {
            self.end_at(stop);
        } else if self.usage.completion_tokens == self.checked.max_tokens {
            self.end(FinishReason::Length);
        }
        Ok(())
    }

    /// Ends the reply, after the text still held back: it was no part of a stop string after all.
    pub(crate) fn end(&mut self, reason: FinishReason) {
        if self.ended {
            return;
        }
        let (text, found) = self.reply.finish();
        self.say(text);
        match found {
            Some(stop) => self.end_at(stop),
            None => self.done(reason),
        }
    }

    /// Ends the reply at a stop string.
    fn end_at(&mut self, stop: String) {
        if self.checked.request.include_stop {
            self.say(stop.clone());
        }
        self.done(FinishReason::Stop(Stop::Text(stop)));
    }

    fn done(&mut self, reason: FinishReason) {
        self.ended = true;
        self.ready.push_back(Event::Done(Done { reason, usage: self.usage, timings: self.timings }));
    }

    /// Ends the reply without a word: a refusal is said instead.
    pub(crate) fn abandon(&mut self) {
        self.ended = true;
        self.ready.clear();
    }

    fn say(&mut self, text: String) {
        if !text.is_empty() {
            self.ready.push_back(Event::Text(text));
        }
    }

    /// Whether something is ready to be told.
    pub(crate) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The next thing to tell.
    pub(crate) fn pop(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }
}
