//! What `inspect` knows of a checkpoint, for a page or for machines.

use serde_json::{Value, json};
use tilewright_engine::{OpenOptions, Plan, Source, resolve_plan};
use tilewright_model::{
    ChatTemplate, Checkpoint, Inspection, Parameters, Refusal, StoredType, Tokenizer, WeightFormat,
};

use crate::flags::ModelChoice;

/// A checkpoint, the plan for it, and what speaks against either.
pub(crate) struct Facts {
    /// Where the checkpoint is.
    pub source: Source,
    /// What its files say.
    pub inspection: Inspection,
    /// The plan that the flags ask for.
    pub plan: Option<Plan>,
    /// The plan of every weight format that fits, all else as the flags ask.
    pub formats: Vec<Plan>,
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
            plan: None,
            formats: Vec::new(),
            tokenizer: None,
        };
        let checkpoint = facts.inspection.refusals.is_empty().then(|| facts.open());
        let stored = checkpoint.as_ref().and_then(|opened| opened.as_ref().ok());
        let stored = stored.map(|checkpoint| checkpoint.parameters().map(|_, tensor| tensor.stored));
        facts.resolve(stored, &choice.options);
        if let Some(opened) = checkpoint
            && let Err(refusal) = opened.and_then(|checkpoint| facts.read(&checkpoint))
        {
            facts.refusals.push(refusal);
        }
        facts
    }

    /// `stored` is how each tensor is stored, if the checkpoint opens; else all count as the first.
    fn resolve(&mut self, stored: Option<Parameters<StoredType>>, options: &OpenOptions) {
        let Some(config) = &self.inspection.config else { return };
        let first = self.inspection.tensors.first().map(|t| t.stored).or(config.stored);
        let Some(stored) = stored.or_else(|| Some(Parameters::all(config, &first?))) else { return };
        match resolve_plan(config, &stored, options) {
            Ok(plan) => self.plan = Some(plan),
            Err(refusal) => self.refusals.push(refusal),
        }
        let other = |weights| OpenOptions { weights: Some(weights), ..options.clone() };
        self.formats = WeightFormat::ALL
            .into_iter()
            .filter_map(|w| resolve_plan(config, &stored, &other(w)).ok())
            .collect();
    }

    /// The weight files are mapped, not read.
    fn open(&self) -> Result<Checkpoint, Refusal> {
        match &self.source {
            Source::Embedded => Checkpoint::embedded(),
            Source::Path(path) => Checkpoint::open(path),
        }
    }

    /// Reads the texts as a command would.
    fn read(&mut self, checkpoint: &Checkpoint) -> Result<(), Refusal> {
        if checkpoint.tokenizer_json().is_some() {
            let tokenizer = self.tokenizer.insert(Tokenizer::from_checkpoint(checkpoint)?);
            ChatTemplate::from_checkpoint(checkpoint, tokenizer)?;
        }
        Ok(())
    }

    /// For machines.
    pub(crate) fn json(&self) -> Value {
        let formats: Vec<Value> = self.formats.iter().map(memory_json).collect();
        let inspection = serde_json::to_value(&self.inspection).unwrap_or_default();
        let mut object = json!({"model": self.source.to_string()});
        if let (Value::Object(object), Value::Object(inspection)) = (&mut object, inspection) {
            object.extend(inspection);
            object.insert("plan".into(), json!(self.plan));
            object.insert("memory".into(), formats.into());
            object.insert(
                "tokenizer_vocabulary".into(),
                self.tokenizer.as_ref().map(Tokenizer::vocab_size).into(),
            );
            object.insert("refusals".into(), json!(self.refusals));
        }
        object
    }
}

fn memory_json(plan: &Plan) -> Value {
    json!({
        "weights": plan.weights.name(),
        "weight_bytes": plan.weight_bytes,
        "bytes_per_token": plan.bytes_per_token,
        "kv": plan.kv.to_string(),
        "kv_bytes_per_position": plan.kv_bytes_per_position,
        "context": plan.context,
        "total_bytes": total_bytes(plan),
    })
}

/// Bytes of the weights and of a full context.
pub(crate) fn total_bytes(plan: &Plan) -> u64 {
    plan.weight_bytes + plan.kv_bytes_per_position * plan.context as u64
}
