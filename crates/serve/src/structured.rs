//! Structured output: JSON schemas and grammars, enforced token by token by `llguidance`.
//!
//! The mask of tokens that may come next is exact: a reply that ends by itself keeps its schema. Reasoning before the answer
//! is free; the rules begin after it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::keywords;
use llguidance::api::TopLevelGrammar;
use llguidance::toktrie::{ApproximateTokEnv, SimpleVob, TokEnv, TokRxInfo, TokTrie};
use llguidance::{Matcher, ParserFactory};
use serde_json::{Value, json};
use tilewright_engine::{Code, Constraint, Engine, Grammar, Refusal};

/// What the grammars of a model share: its vocabulary as a trie, built at the first use.
pub(crate) struct Grammars {
    engine: Engine,
    factory: OnceLock<Result<Arc<ParserFactory>, Refusal>>,
}

/// Where the rules begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reasoning {
    /// With the first token.
    None,
    /// After a block that the prompt opened.
    Opened,
    /// After a block, if the reply begins with one.
    Possible,
}

impl Grammars {
    pub(crate) fn new(engine: &Engine) -> Self {
        Self { engine: engine.clone(), factory: OnceLock::new() }
    }

    /// Replies that keep a JSON schema.
    ///
    /// # Errors
    /// `grammar_invalid` for what cannot be enforced.
    pub(crate) fn schema(
        &self,
        mut schema: Value,
        reasoning: Reasoning,
    ) -> Result<Arc<dyn Grammar>, Refusal> {
        keywords::check("schema", &schema)?;
        compact(&mut schema);
        self.rules(TopLevelGrammar::from_json_schema(schema), reasoning)
    }

    /// Replies of a grammar in Lark's notation.
    ///
    /// # Errors
    /// As [`schema`](Self::schema).
    pub(crate) fn lark(&self, text: String, reasoning: Reasoning) -> Result<Arc<dyn Grammar>, Refusal> {
        self.rules(TopLevelGrammar::from_lark(text), reasoning)
    }

    fn rules(&self, grammar: TopLevelGrammar, reasoning: Reasoning) -> Result<Arc<dyn Grammar>, Refusal> {
        let factory = self.factory.get_or_init(|| factory(&self.engine)).clone()?;
        let id = |text| self.engine.tokenizer().and_then(|tokenizer| tokenizer.id_of(text));
        let rules = Rules {
            factory,
            grammar,
            stops: self.engine.stop_set().ids().collect(),
            open: id("<think>").filter(|_| reasoning == Reasoning::Possible),
            close: id("</think>").filter(|_| reasoning == Reasoning::Opened),
            close_of_open: id("</think>"),
        };
        // Whatever cannot be enforced is found before the request is admitted.
        rules.begin()?;
        Ok(Arc::new(rules))
    }
}

/// Without white space that a small model would write for ever.
pub(crate) fn compact(schema: &mut Value) {
    if let Value::Object(map) = schema {
        let style = json!({"whitespace_flexible": false, "item_separator": ", ", "key_separator": ": "});
        map.insert("x-guidance".to_owned(), style);
    }
}

/// The first line of what the grammar's engine says: its state comes after it.
fn invalid(error: impl fmt::Display) -> Refusal {
    let said = error.to_string();
    let said = said.lines().next().unwrap_or_default();
    Refusal::new(Code::GrammarInvalid, "response_format or tools", "a schema that can be enforced", said)
}

fn factory(engine: &Engine) -> Result<Arc<ParserFactory>, Refusal> {
    let missing = || Refusal::new(Code::TokenizerInvalid, "tokenizer", "one, for structured output", "none");
    let tokenizer = engine.tokenizer().ok_or_else(missing)?;
    let end = engine.stop_set().ids().next().ok_or_else(|| {
        Refusal::new(Code::GrammarInvalid, "the model's stop set", "an id that ends a reply", "none")
    })?;
    let limit = engine.tokens().limit() as u32;
    let words: Vec<Vec<u8>> = (0..limit)
        .map(|id| match tokenizer.token_bytes(id) {
            None => Vec::new(),
            // Marked, so that no text matches them.
            Some(bytes) if tokenizer.is_special(id) => [&[TokTrie::SPECIAL_TOKEN_MARKER], bytes].concat(),
            Some(bytes) => bytes.to_vec(),
        })
        .collect();
    let trie = TokTrie::from(&TokRxInfo::new(limit, end), &words);
    let env: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
    let mut factory = ParserFactory::new_simple(&env).map_err(invalid)?;
    factory.quiet();
    Ok(Arc::new(factory))
}

/// The rules of one request.
struct Rules {
    factory: Arc<ParserFactory>,
    grammar: TopLevelGrammar,
    stops: Vec<u32>,
    /// A token that may begin a reasoning block.
    open: Option<u32>,
    /// A token that everything is free before.
    close: Option<u32>,
    /// The token that ends a block that `open` began.
    close_of_open: Option<u32>,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").finish_non_exhaustive()
    }
}

impl Grammar for Rules {
    fn begin(&self) -> Result<Box<dyn Constraint>, Refusal> {
        let mut matcher = Matcher::new(self.factory.create_parser(self.grammar.clone()));
        let mask = matcher.compute_mask_or_eos().map_err(invalid)?;
        Ok(Box::new(Ruling {
            matcher,
            mask,
            fresh: true,
            stops: self.stops.clone(),
            open: self.open,
            close: self.close,
            close_of_open: self.close_of_open,
        }))
    }
}

/// The rules and how far a reply has come.
struct Ruling {
    matcher: Matcher,
    mask: SimpleVob,
    /// Whether `mask` is for the next token.
    fresh: bool,
    stops: Vec<u32>,
    open: Option<u32>,
    close: Option<u32>,
    close_of_open: Option<u32>,
}

impl Constraint for Ruling {
    fn allowed(&mut self) -> Result<Option<&[u32]>, Refusal> {
        if self.close.is_some() {
            return Ok(None);
        }
        if !self.fresh {
            self.mask = self.matcher.compute_mask_or_eos().map_err(invalid)?;
            self.fresh = true;
        }
        let len = self.mask.len() as u32;
        // Where one id may end the reply, all of the model's may.
        if self.stops.iter().any(|&id| id < len && self.mask.is_allowed(id)) {
            self.stops.iter().filter(|&&id| id < len).for_each(|&id| self.mask.allow_token(id));
        }
        if let Some(open) = self.open.filter(|&id| id < len) {
            self.mask.allow_token(open);
        }
        Ok(Some(self.mask.as_slice()))
    }

    fn accept(&mut self, id: u32) -> Result<(), Refusal> {
        if let Some(close) = self.close {
            if id == close {
                self.close = None;
            }
            return Ok(());
        }
        if self.open.take() == Some(id) {
            self.close = self.close_of_open;
            self.fresh = false;
            return Ok(());
        }
        if !self.stops.contains(&id) {
            self.matcher.consume_token(id).map_err(invalid)?;
            self.fresh = false;
        }
        Ok(())
    }
}
