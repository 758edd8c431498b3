//! Which token comes next, and whether one may come at all.

use tilewright_model::Refusal;

use crate::grammar::Constraint;
use crate::request::Checked;
use crate::sampling::{self, Sampler, SamplingSet};
use crate::{Cancel, Engine, Request, Token};

/// The half of a reply that sees logits. It knows of every end but that at a stop string, which is text.
pub(crate) struct Chooser {
    engine: Engine,
    checked: Checked,
    sampler: Sampler,
    constraint: Option<Box<dyn Constraint>>,
    /// Tokens chosen so far.
    chosen: usize,
    latest: Option<u32>,
    /// Whether the latest token is the last there can be.
    complete: bool,
    ended: bool,
}

impl Chooser {
    /// # Errors
    /// Why the grammar cannot be begun.
    pub(super) fn new(engine: &Engine, checked: Checked) -> Result<Self, Refusal> {
        let constraint = checked.request.grammar.as_ref().map(|grammar| grammar.begin()).transpose()?;
        let sampler =
            Sampler::new(checked.sampling.clone(), &checked.request.prompt, engine.tokens().clone());
        Ok(Self {
            engine: engine.clone(),
            checked,
            sampler,
            constraint,
            chosen: 0,
            latest: None,
            complete: false,
            ended: false,
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
        self.checked.max_tokens - self.chosen
    }

    /// Ids that end it.
    pub(crate) fn stop_ids(&self) -> &[u32] {
        &self.checked.stop_ids
    }

    /// The latest token; `None` before the first.
    pub(crate) fn latest(&self) -> Option<u32> {
        self.latest
    }

    /// Whether no more tokens are to be chosen.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Whether its own last token has come, and not only what [`end`](Self::end) says.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// No more tokens are to be chosen.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    /// Whether the next tokens are the greatest logits' ids and nothing else is asked of the logits.
    pub(crate) fn is_plain(&self) -> bool {
        let request = &self.checked.request;
        let free = self.chosen >= request.min_tokens || self.checked.stop_ids.is_empty();
        free && request.logprobs.is_none() && self.constraint.is_none() && self.sampler.is_plain()
    }

    /// Picks the next token from the logits after the latest, `[vocab]`.
    ///
    /// # Errors
    /// `non_finite_logits`, or why the grammar cannot go on.
    pub(crate) fn choose(&mut self, logits: &[f32]) -> Result<Token, Refusal> {
        let early = self.chosen < self.checked.request.min_tokens;
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
        Ok(self.accept(Token { id, logprobs }))
    }

    /// Takes a token that the device picked by itself.
    pub(crate) fn take(&mut self, id: u32) -> Token {
        self.sampler.note(id);
        self.accept(Token { id, logprobs: None })
    }

    fn accept(&mut self, token: Token) -> Token {
        self.chosen += 1;
        self.latest = Some(token.id);
        let stops = self.checked.stop_ids.binary_search(&token.id).is_ok();
        self.complete |= stops || self.chosen == self.checked.max_tokens;
        self.ended |= self.complete;
        token
    }
}
