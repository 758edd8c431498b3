//! One reply in the making.

use std::collections::VecDeque;
use std::time::Instant;

use tilewright_backend::LogitSink;
use tilewright_model::{Code, Refusal};

use crate::request::Checked;
use crate::sampling::{self, Sampler, SamplingSet};
use crate::stopping::ReplyText;
use crate::{Conversation, Done, Event, FinishReason, Request, Stop, Timings, Token, Usage};

/// Most tokens that the device is asked for at once: what a cancelled reply may have computed in vain.
const LONGEST_RUN: usize = 32;

/// The events of one reply, in order. One call of `next` does at most one unit of work: a chunk of the prompt, or
/// one token.
///
/// After [`Event::Done`] or a refusal there is nothing more, however often it is asked. Dropping it at any time
/// frees what it holds; a sequence lent by a [`Conversation`] keeps what was taken in.
pub struct Generation<'c> {
    conversation: Held<'c>,
    checked: Checked,
    sampler: Sampler,
    reply: ReplyText,
    /// The latest logits, `[vocab]`.
    logits: Vec<f32>,
    phase: Phase,
    /// Tokens the device has chosen beyond the latest one reported. All but the last are taken in.
    ahead: VecDeque<u32>,
    /// Tokens to ask the device for next time.
    run: usize,
    ready: VecDeque<Event>,
    usage: Usage,
    timings: Timings,
    started: Option<Instant>,
}

/// What the next unit of work is.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Prefill,
    /// Decode this token, the latest of the reply.
    Decode(u32),
    Ended,
}

/// A conversation of its own, or one lent by the caller.
enum Held<'c> {
    Own(Conversation),
    Lent(&'c mut Conversation),
}

impl Held<'_> {
    fn get(&mut self) -> &mut Conversation {
        match self {
            Self::Own(conversation) => conversation,
            Self::Lent(conversation) => conversation,
        }
    }
}

impl<'c> Generation<'c> {
    /// A reply in a sequence of its own, just long enough.
    pub(crate) fn alone(engine: &crate::Engine, request: Request) -> Result<Self, Refusal> {
        let checked = Checked::new(request, &engine.facts(engine.plan().context))?;
        let positions = checked.request.prompt.len() + checked.max_tokens;
        Self::start(Held::Own(Conversation::new(engine, positions)), checked)
    }

    /// A reply that continues a conversation.
    pub(crate) fn within(conversation: &'c mut Conversation, request: Request) -> Result<Self, Refusal> {
        let facts = conversation.engine().facts(conversation.positions());
        let checked = Checked::new(request, &facts)?;
        Self::start(Held::Lent(conversation), checked)
    }

    fn start(mut conversation: Held<'c>, checked: Checked) -> Result<Self, Refusal> {
        let held = conversation.get();
        let prompt = &checked.request.prompt;
        held.rewind(prompt)?;
        let (engine, cached) = (held.engine(), held.ids().len());
        let sampler = Sampler::new(checked.sampling.clone(), prompt, engine.tokens().clone());
        let usage = Usage { prompt_tokens: prompt.len(), cached_tokens: cached, completion_tokens: 0 };
        Ok(Self {
            sampler,
            reply: ReplyText::new(engine.tokenizer(), &checked.request, &checked.stop_strings),
            logits: vec![0.0; engine.config().vocab],
            phase: Phase::Prefill,
            ahead: VecDeque::new(),
            run: 2,
            ready: VecDeque::new(),
            usage,
            timings: Timings::default(),
            started: None,
            conversation,
            checked,
        })
    }

    /// The sampling settings in effect, each with who set it.
    pub fn sampling(&self) -> &SamplingSet {
        &self.checked.sampling
    }

    /// The most tokens this reply can have.
    pub fn max_tokens(&self) -> usize {
        self.checked.max_tokens
    }

    /// Does one unit of work, which leaves at least one event ready or ends the reply.
    fn advance(&mut self) -> Result<(), Refusal> {
        let cancelled = self.checked.request.cancel.is_cancelled();
        match self.phase {
            Phase::Ended => {}
            _ if cancelled => self.end(FinishReason::Cancelled),
            Phase::Prefill => self.prefill()?,
            Phase::Decode(token) => self.decode(token)?,
        }
        Ok(())
    }

    /// Takes in the next chunk of the prompt; after the last one picks the first token.
    fn prefill(&mut self) -> Result<(), Refusal> {
        let conversation = self.conversation.get();
        let request = &self.checked.request;
        let from = conversation.ids().len();
        let to = request.prompt.len().min(from + conversation.engine().plan().prefill_chunk.max(1));
        let tokens = &request.prompt[from..to];
        let last = to == request.prompt.len();

        let started = Instant::now();
        let sink = if last { LogitSink::Last(&mut self.logits) } else { LogitSink::None };
        let result = conversation.prefill(tokens, sink, &request.cancel);
        self.timings.prefill += started.elapsed();
        self.timings.prefilled += conversation.ids().len() - from;
        match result {
            Err(refusal) if refusal.code() == Code::Cancelled => {
                self.end(FinishReason::Cancelled);
                return Ok(());
            }
            other => other?,
        }

        self.ready.push_back(Event::Prefill { done: to, total: request.prompt.len() });
        if last {
            let token = self.pick()?;
            self.timings.first_token = self.started.map_or(Default::default(), |at| at.elapsed());
            self.accept(token)?;
        }
        Ok(())
    }

    /// Decodes the latest token and picks the next, unless the device has done so already.
    fn decode(&mut self, token: u32) -> Result<(), Refusal> {
        if self.ahead.is_empty() && self.is_plain() {
            self.run_ahead(token)?;
        }
        if let Some(id) = self.ahead.pop_front() {
            self.sampler.note(id);
            return self.accept(Token { id, logprobs: None });
        }
        let started = Instant::now();
        self.conversation.get().decode(token, &mut self.logits)?;
        let token = self.pick()?;
        self.timings.decode += started.elapsed();
        self.timings.decoded += 1;
        self.accept(token)
    }

    /// Whether the next tokens are the greatest logits' ids and nothing else is asked of the logits.
    fn is_plain(&self) -> bool {
        let request = &self.checked.request;
        let free = self.usage.completion_tokens >= request.min_tokens || self.checked.stop_ids.is_empty();
        free && request.logprobs.is_none() && self.sampler.is_plain()
    }

    /// Lets the device choose tokens by itself, more each time. Ids that stand for no token are left to be picked.
    fn run_ahead(&mut self, token: u32) -> Result<(), Refusal> {
        let count = self.run.min(self.checked.max_tokens - self.usage.completion_tokens);
        let started = Instant::now();
        let conversation = self.conversation.get();
        let mut ids = conversation.greedy(token, count, &self.checked.stop_ids)?;
        let tokens = conversation.engine().tokens();
        let good = ids.iter().take_while(|id| tokens.has(**id)).count();
        conversation.forget(ids.len() - good);
        ids.truncate(good);
        if !ids.is_empty() {
            self.timings.decode += started.elapsed();
            self.timings.decoded += ids.len();
            self.run = (self.run * 2).min(LONGEST_RUN);
        }
        self.ahead.extend(ids);
        Ok(())
    }

    fn pick(&mut self) -> Result<Token, Refusal> {
        let early = self.usage.completion_tokens < self.checked.request.min_tokens;
        let banned: &[u32] = if early { &self.checked.stop_ids } else { &[] };
        let id = self.sampler.pick(&self.logits, banned)?;
        let logprobs = self.checked.request.logprobs.map(|count| {
            let tokens = self.conversation.get().engine().tokens();
            sampling::logprobs(&self.logits, id, count.into(), tokens)
        });
        Ok(Token { id, logprobs })
    }

    /// Reports a token and the text that became certain with it, and decides whether the reply ends.
    fn accept(&mut self, token: Token) -> Result<(), Refusal> {
        let id = token.id;
        self.ready.push_back(Event::Token(token));
        self.usage.completion_tokens += 1;
        self.phase = Phase::Decode(id);

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
    fn end(&mut self, reason: FinishReason) {
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
        self.conversation.get().forget(self.ahead.len());
        self.ahead.clear();
        self.phase = Phase::Ended;
        self.ready.push_back(Event::Done(Done { reason, usage: self.usage, timings: self.timings }));
    }

    fn say(&mut self, text: String) {
        if !text.is_empty() {
            self.ready.push_back(Event::Text(text));
        }
    }
}

impl Iterator for Generation<'_> {
    type Item = Result<Event, Refusal>;

    fn next(&mut self) -> Option<Self::Item> {
        self.started.get_or_insert_with(Instant::now);
        if self.ready.is_empty()
            && let Err(refusal) = self.advance()
        {
            self.phase = Phase::Ended;
            self.ready.clear();
            return Some(Err(refusal));
        }
        self.ready.pop_front().map(Ok)
    }
}

#[cfg(test)]
mod tests;
