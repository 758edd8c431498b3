//! What is told of a reply: its tokens, the text that is certain, its end.

use std::collections::VecDeque;
use std::time::Instant;

use tilewright_model::Refusal;

use crate::request::Checked;
use crate::stopping::ReplyText;
use crate::{Done, Engine, Event, FinishReason, Stop, Timings, Token, Usage};

/// The half of a reply that makes events of its tokens and looks for stop strings.
pub(crate) struct Telling {
    reply: ReplyText,
    ready: VecDeque<Event>,
    usage: Usage,
    /// What was measured so far; drivers add to it.
    pub(crate) timings: Timings,
    started: Option<Instant>,
    stop_ids: Vec<u32>,
    include_stop: bool,
    min_tokens: usize,
    max_tokens: usize,
    ended: bool,
}

impl Telling {
    pub(super) fn new(engine: &Engine, checked: &Checked) -> Self {
        let request = &checked.request;
        Self {
            reply: ReplyText::new(engine.tokenizer(), request, &checked.stop_strings),
            ready: VecDeque::new(),
            usage: Usage { prompt_tokens: request.prompt.len(), ..Usage::default() },
            timings: Timings::default(),
            started: None,
            stop_ids: checked.stop_ids.clone(),
            include_stop: request.include_stop,
            min_tokens: request.min_tokens,
            max_tokens: checked.max_tokens,
            ended: false,
        }
    }

    /// Takes the time of the first token from now on, unless that began already.
    pub(crate) fn start(&mut self) {
        self.started.get_or_insert_with(Instant::now);
    }

    /// How many tokens of the prompt were in the cache already.
    pub(crate) fn reused(&mut self, tokens: usize) {
        self.usage.cached_tokens = tokens;
    }

    /// Whether the end was told.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Tokens told so far.
    pub(crate) fn told(&self) -> usize {
        self.usage.completion_tokens
    }

    /// Reports how much of the prompt is taken in.
    pub(crate) fn prefilled(&mut self, done: usize) {
        let total = self.usage.prompt_tokens;
        self.ready.push_back(Event::Prefill { done: done.min(total), total });
    }

    /// Reports a token and the text that became certain with it, and decides whether the reply ends.
    ///
    /// # Errors
    /// That of the tokenizer.
    pub(crate) fn accept(&mut self, token: Token) -> Result<(), Refusal> {
        let id = token.id;
        if self.usage.completion_tokens == 0 {
            self.timings.first_token = self.started.map_or(Default::default(), |at| at.elapsed());
        }
        self.ready.push_back(Event::Token(token));
        self.usage.completion_tokens += 1;

        if self.stop_ids.binary_search(&id).is_ok() {
            if self.include_stop {
                let (text, _) = self.reply.push(id, false)?;
                self.say(text);
            }
            self.end(FinishReason::Stop(Stop::Id(id)));
            return Ok(());
        }
        let searched = self.usage.completion_tokens > self.min_tokens;
        let (text, found) = self.reply.push(id, searched)?;
        self.say(text);
        if let Some(stop) = found {
            self.end_at(stop);
        } else if self.usage.completion_tokens == self.max_tokens {
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
        if self.include_stop {
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

    /// All that is ready to be told.
    pub(crate) fn take_ready(&mut self) -> Vec<Event> {
        self.ready.drain(..).collect()
    }
}
