//! What `inspect` knows of a checkpoint, for a page or for machines.

use serde_json::{Value, json};
use tilewright_engine::Source;
use tilewright_model::{ChatTemplate, Checkpoint, Inspection, Refusal, Tokenizer};

use crate::flags::ModelChoice;

/// A checkpoint, the plan for it, and what speaks against either.
pub(crate) struct Facts {
    /// Where the checkpoint is.
    pub source: Source,
    /// What its files say.
    pub inspection: Inspection,
    /// The tokenizer, if there is one that can be used.
    pub tokenizer: Option<Tokenizer>,
    /// Every refusal.
    pub refusals: Vec<Refusal>,
}

impl Facts {
    /// Puts together what is known; a part that is refused leaves the others standing.
    pub(crate) fn of(inspection: Inspection, choice: &ModelChoice) -> Self {
        let mut facts = Self {
            source: choice.source.clone(),
            refusals: inspection.refusals.clone(),
            inspection,
            tokenizer: None,
        };
        if facts.inspection.refusals.is_empty()
            && let Err(refusal) = facts.open()
        {
            facts.refusals.push(refusal);
        }
        facts
    }

    /// Reads the texts as a command would. The weight files are mapped, not read.
    fn open(&mut self) -> Result<(), Refusal> {
        let checkpoint = match &self.source {
            Source::Embedded => Checkpoint::embedded()?,
            Source::Path(path) => Checkpoint::open(path)?,
        };
        let Some(json) = checkpoint.tokenizer_json() else { return Ok(()) };
        let tokenizer = self.tokenizer.insert(Tokenizer::from_bytes(json, checkpoint.tokenizer_config())?);
        if let Some((text, place)) = checkpoint.chat_template() {
            ChatTemplate::new(text, tokenizer, &place.to_string())?;
        }
        Ok(())
    }

    /// For machines.
    pub(crate) fn json(&self) -> Value {
        let inspection = serde_json::to_value(&self.inspection).unwrap_or_default();
        let mut object = json!({"model": self.source.to_string()});
        if let (Value::Object(object), Value::Object(inspection)) = (&mut object, inspection) {
            object.extend(inspection);
            object.insert(
                "tokenizer_vocabulary".into(),
                self.tokenizer.as_ref().map(Tokenizer::vocab_size).into(),
            );
            object.insert("refusals".into(), json!(self.refusals));
        }
        object
    }
}
