//! Everything about a request that can be refused before any work.

use std::collections::BTreeSet;

use tilewright_model::{Code, Finding, Refusal, StopSet, Tokenizer};

use super::{MAX_ALTERNATIVES, Request};
use crate::sampling::{SamplingDefaults, SamplingSet, Tokens};

/// What a request is checked against.
pub(crate) struct Facts<'a> {
    /// The ids that stand for a token.
    pub(crate) tokens: &'a Tokens,
    /// Positions the sequence may hold.
    pub(crate) context: usize,
    /// What turns ids into text, if there is one.
    pub(crate) tokenizer: Option<&'a Tokenizer>,
    /// The checkpoint's stop ids.
    pub(crate) stop_set: &'a StopSet,
    /// The checkpoint's stop strings.
    pub(crate) stop_strings: &'a [String],
    /// The checkpoint's sampling defaults.
    pub(crate) sampling: &'a SamplingDefaults,
}

/// A request that can be carried out, with its defaults filled in.
pub(crate) struct Checked {
    pub(crate) request: Request,
    /// Tokens to generate at most.
    pub(crate) max_tokens: usize,
    /// Ids that end the reply, by rising id.
    pub(crate) stop_ids: Vec<u32>,
    /// Strings that end the reply.
    pub(crate) stop_strings: Vec<String>,
    /// The settings in effect.
    pub(crate) sampling: SamplingSet,
}

impl Checked {
    /// Checks `request`.
    ///
    /// # Errors
    /// `request_invalid` with every bad field, else `sampling_invalid` with every bad value, else `context_full`.
    pub(crate) fn new(request: Request, facts: &Facts<'_>) -> Result<Self, Refusal> {
        let mut stop_ids: BTreeSet<u32> = request.stop_ids.iter().copied().collect();
        let mut stop_strings = request.stop.clone();
        if !request.ignore_eos {
            stop_ids.extend(facts.stop_set.ids());
            stop_strings.extend_from_slice(facts.stop_strings);
        }
        stop_ids.extend(stop_strings.iter().filter_map(|stop| special(facts.tokenizer?, stop)));
        let stop_ids: Vec<u32> = stop_ids.into_iter().collect();

        Refusal::check(Code::RequestInvalid, fields(&request, &stop_ids, facts))?;
        let sampling = facts.sampling.resolve(&request.sampling, facts.tokens)?;
        let max_tokens = fit(&request, facts.context)?;
        Ok(Self { request, max_tokens, stop_ids, stop_strings, sampling })
    }
}

impl Request {
    /// Refuses what no model could honour, for callers that ask before they load one. The prompt may still be missing.
    ///
    /// # Errors
    /// `request_invalid` with every bad field, else `sampling_invalid` with every bad value.
    pub fn check(&self) -> Result<(), Refusal> {
        Refusal::check(Code::RequestInvalid, alone(self))?;
        SamplingDefaults::default().resolve(&self.sampling, &Tokens::all(usize::MAX)).map(drop)
    }
}

/// What is wrong whatever the model.
fn alone(request: &Request) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |bad: bool, what: &str, expected: String, got: String| {
        if bad {
            findings.push(Finding::new(what, expected, got));
        }
    };

    add(request.max_tokens == Some(0), "max_tokens", "at least 1".into(), "0".into());
    if let Some(max) = request.max_tokens.filter(|&max| max > 0) {
        let min = request.min_tokens;
        add(min > max, "min_tokens", format!("at most max_tokens ({max})"), min.to_string());
    }
    add(
        request.min_tokens > 0 && request.grammar.is_some(),
        "min_tokens",
        "0 where a grammar says when the reply may end".into(),
        request.min_tokens.to_string(),
    );
    let empty = request.stop.iter().any(String::is_empty);
    add(empty, "stop", "strings of at least one character".into(), "an empty one".into());
    if let Some(n) = request.logprobs {
        let most = format!("at most {MAX_ALTERNATIVES} alternatives");
        add(n > MAX_ALTERNATIVES, "logprobs", most, n.to_string());
    }
    findings
}

/// What is wrong, alone and for the model.
fn fields(request: &Request, stop_ids: &[u32], facts: &Facts<'_>) -> Vec<Finding> {
    let tokens = facts.tokens;
    let mut findings = alone(request);
    let mut add = |bad: bool, what: &str, expected: String, got: String| {
        if bad {
            findings.push(Finding::new(what, expected, got));
        }
    };

    add(request.prompt.is_empty(), "prompt", "at least one token".into(), "none".into());
    let unknown = |ids: &[u32]| ids.iter().copied().filter(|&id| !tokens.has(id)).collect::<Vec<_>>();
    for (what, ids) in [("prompt", &request.prompt), ("stop_ids", &request.stop_ids)] {
        let unknown = unknown(ids);
        add(
            !unknown.is_empty(),
            what,
            format!("ids of the {} that stand for a token", tokens.count()),
            some(&unknown),
        );
    }
    add(
        request.min_tokens > 0 && stop_ids.iter().filter(|&&id| tokens.has(id)).count() >= tokens.count(),
        "min_tokens",
        "an id that is no stop id".into(),
        format!("{} stop ids", stop_ids.len()),
    );
    add(
        !request.stop.is_empty() && facts.tokenizer.is_none(),
        "stop",
        "none, as the model has no tokenizer".into(),
        format!("{} strings", request.stop.len()),
    );
    findings
}

/// The id of the special token whose text is `stop`. Such tokens are left out of the text, where the stop string
/// would never be found.
fn special(tokenizer: &Tokenizer, stop: &str) -> Option<u32> {
    tokenizer.id_of(stop).filter(|&id| tokenizer.is_special(id))
}

/// Tokens that may be generated.
fn fit(request: &Request, context: usize) -> Result<usize, Refusal> {
    let prompt = request.prompt.len();
    let asked = request.max_tokens.unwrap_or(request.min_tokens.max(1));
    if prompt.saturating_add(asked) > context {
        let got = format!("{prompt} + {asked}");
        let expected = format!("at most {context} (the context)");
        return Err(Refusal::new(Code::ContextFull, "prompt and reply tokens", expected, got));
    }
    Ok(request.max_tokens.unwrap_or(context - prompt))
}

/// The first few of a list of ids.
fn some(ids: &[u32]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = ids.iter().take(SHOWN).map(u32::to_string).collect();
    let more = ids.len().saturating_sub(SHOWN);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &tail
}

#[cfg(test)]
mod tests;
