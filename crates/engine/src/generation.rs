//! One reply in the making.

use std::collections::VecDeque;
use std::iter;
use std::time::Instant;

use tilewright_backend::LogitSink;
use tilewright_model::{Code, Refusal};

use crate::draft::Draft;
use crate::request::Checked;
use crate::sampling::SamplingSet;
use crate::{Conversation, Event, FinishReason, Request};

/// Most tokens that the device is asked for at once: what a cancelled reply may have computed in vain.
const LONGEST_RUN: usize = 32;

/// The events of one reply, in order. One call of `next` does at most one unit of work: a chunk of the prompt, or
/// one token; on a device that chooses ids by itself up to 32 tokens of a plain greedy reply.
///
/// After [`Event::Done`] or a refusal there is nothing more, however often it is asked. Dropping it at any time
/// frees what it holds; a sequence lent by a [`Conversation`] keeps what was taken in.
pub struct Generation<'c> {
    conversation: Held<'c>,
    draft: Draft,
    /// The latest logits, `[vocab]`.
    logits: Vec<f32>,
    /// Tokens the device has chosen beyond the latest one reported. All but the last are taken in.
    ahead: VecDeque<u32>,
    /// Tokens to ask the device for next time.
    run: usize,
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
        held.rewind(&checked.request.prompt)?;
        let mut draft = Draft::new(held.engine(), checked)?;
        draft.telling.reused(held.ids().len());
        let logits = vec![0.0; held.engine().config().vocab];
        Ok(Self { draft, logits, ahead: VecDeque::new(), run: 2, conversation })
    }

    /// The sampling settings in effect, each with who set it.
    pub fn sampling(&self) -> &SamplingSet {
        self.draft.sampling()
    }

    /// The most tokens this reply can have.
    pub fn max_tokens(&self) -> usize {
        self.draft.max_tokens()
    }

    /// Does one unit of work and gives every event that it left ready, at least one; `None` after the end.
    pub fn step(&mut self) -> Option<Result<Vec<Event>, Refusal>> {
        let first = self.next()?;
        Some(first.map(|first| iter::once(first).chain(iter::from_fn(|| self.draft.pop())).collect()))
    }

    /// Does one unit of work, which leaves at least one event ready or ends the reply.
    fn advance(&mut self) -> Result<(), Refusal> {
        if self.draft.ended() {
            return Ok(());
        }
        let cancelled = self.draft.cancel().is_cancelled();
        match self.draft.latest() {
            _ if cancelled => self.draft.end(FinishReason::Cancelled),
            None => self.prefill()?,
            Some(token) => self.decode(token)?,
        }
        if self.draft.ended() {
            self.conversation.get().forget(self.ahead.len());
            self.ahead.clear();
        }
        Ok(())
    }

    /// Takes in the next chunk of the prompt; after the last one picks the first token.
    fn prefill(&mut self) -> Result<(), Refusal> {
        let conversation = self.conversation.get();
        let request = self.draft.request();
        let from = conversation.ids().len();
        let to = request.prompt.len().min(from + conversation.engine().plan().prefill_chunk.max(1));
        let tokens = &request.prompt[from..to];
        let last = to == request.prompt.len();

        let started = Instant::now();
        let sink = if last { LogitSink::Last(&mut self.logits) } else { LogitSink::None };
        let result = conversation.prefill(tokens, sink, &request.cancel);
        let held = conversation.ids().len();
        self.draft.telling.timings.prefill += started.elapsed();
        self.draft.telling.timings.prefilled += held - from;
        match result {
            Err(refusal) if refusal.code() == Code::Cancelled => {
                self.draft.end(FinishReason::Cancelled);
                return Ok(());
            }
            other => other?,
        }
        self.draft.telling.prefilled(to);
        if last { self.draft.choose(&self.logits) } else { Ok(()) }
    }

    /// Decodes the latest token and picks the next, unless the device has done so already.
    fn decode(&mut self, token: u32) -> Result<(), Refusal> {
        if self.ahead.is_empty() && self.draft.is_plain() {
            self.run_ahead(token)?;
        }
        if let Some(id) = self.ahead.pop_front() {
            return self.draft.take(id);
        }
        let started = Instant::now();
        self.conversation.get().decode(token, &mut self.logits)?;
        self.draft.decoded(started.elapsed());
        self.draft.choose(&self.logits)
    }

    /// Lets the device choose tokens by itself, more each time. Ids that stand for no token are left to be picked.
    fn run_ahead(&mut self, token: u32) -> Result<(), Refusal> {
        let count = self.run.min(self.draft.left());
        let started = Instant::now();
        let conversation = self.conversation.get();
        let mut ids = conversation.greedy(token, count, self.draft.stop_ids())?;
        let tokens = conversation.engine().tokens();
        let good = ids.iter().take_while(|id| tokens.has(**id)).count();
        conversation.forget(ids.len() - good);
        ids.truncate(good);
        if !ids.is_empty() {
            self.draft.telling.timings.decode += started.elapsed();
            self.draft.telling.timings.decoded += ids.len();
            self.run = (self.run * 2).min(LONGEST_RUN);
        }
        self.ahead.extend(ids);
        Ok(())
    }
}

impl Iterator for Generation<'_> {
    type Item = Result<Event, Refusal>;

    fn next(&mut self) -> Option<Self::Item> {
        self.draft.telling.start();
        if !self.draft.telling.is_ready()
            && let Err(refusal) = self.advance()
        {
            self.draft.telling.abandon();
            return Some(Err(refusal));
        }
        self.draft.pop().map(Ok)
    }
}

#[cfg(test)]
mod tests;
