//! A model opened for a command: loading with a bar, and the lines that say what was resolved.

use serde_json::{Map, Value, json};
use tilewright_engine::{Engine, Source};
use tilewright_model::{Refusal, Specials, Tokenizer};

use crate::commands::describe;
use crate::console::{Console, LoadingBar};
use crate::flags::ModelChoice;

/// A model that is ready.
pub(crate) struct Session {
    /// The engine.
    pub engine: Engine,
    source: Source,
}

impl Session {
    /// Opens the model and says what was resolved.
    ///
    /// # Errors
    /// Whatever the checkpoint, the plan or the device is refused for.
    pub(crate) fn open(choice: ModelChoice, console: &Console) -> Result<Self, Refusal> {
        let mut bar = LoadingBar::new(console);
        let engine =
            Engine::open(choice.source.clone(), &choice.options, &mut |progress| bar.report(progress))?;
        drop(bar);
        let session = Self { engine, source: choice.source };
        session.announce(console);
        Ok(session)
    }

    fn announce(&self, console: &Console) {
        let engine = &self.engine;
        let seconds = engine.load_time().as_secs_f64();
        console.notice(
            "model",
            &format!("{}: {}, loaded in {seconds:.2} s", self.source, describe::config(engine.config())),
        );
        console.notice("plan", &describe::plan(engine.plan()));
        console.notice("", &format!("device {}: {}", engine.device().kind, engine.device().reason));
        for note in &engine.plan().notes {
            console.notice("", note);
        }
        console.notice("stop", &describe::stop_set(engine.stop_set(), engine.tokenizer()));
    }

    /// The ids of a text; control tokens spelled in it are control tokens only when it is `raw`.
    ///
    /// # Errors
    /// `tokenizer_invalid` without a tokenizer, `text_unencodable`.
    pub(crate) fn encode(&self, text: &str, raw: bool) -> Result<Vec<u32>, Refusal> {
        self.tokenizer()?.encode_prompt(text, if raw { Specials::Parse } else { Specials::Plain })
    }

    /// The tokenizer, which text needs.
    ///
    /// # Errors
    /// `tokenizer_invalid` when there is none.
    pub(crate) fn tokenizer(&self) -> Result<&Tokenizer, Refusal> {
        self.engine.reads_text().map_err(|refusal| refusal.at(&self.source))
    }

    /// Whether replies have text.
    pub(crate) fn readable(&self) -> bool {
        self.engine.tokenizer().is_some()
    }

    /// What was resolved, for machines.
    pub(crate) fn json(&self) -> Map<String, Value> {
        let engine = &self.engine;
        let mut object = Map::new();
        object.insert("model".into(), self.source.to_string().into());
        object.insert("plan".into(), json!(engine.plan()));
        object.insert("device_reason".into(), engine.device().reason.clone().into());
        object.insert("stop_set".into(), describe::stop_set_json(engine.stop_set(), engine.tokenizer()));
        object
    }
}
