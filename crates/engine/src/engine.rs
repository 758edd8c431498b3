//! A model ready to be asked.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tilewright_backend::{Plan, Resident};
use tilewright_model::{Config, GenerationConfig, Refusal, StopSet, Tokenizer};

use crate::device::DeviceChoice;
use crate::request::Facts;
use crate::sampling::{SamplingDefaults, Tokens};
use crate::{Conversation, Generation, Request};

/// One model resident on one device.
///
/// A handle: clones share the model, and it can be used from several threads. Generations of one engine take turns
/// step by step, and none can change another's tokens, since a row's result does not depend on its company. The
/// model is freed when the last handle, conversation and generation are gone.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    resident: Mutex<Box<dyn Resident>>,
    config: Config,
    plan: Plan,
    tokens: Tokens,
    sampling: SamplingDefaults,
    parts: EngineParts,
}

/// What an engine is made of besides the device: for callers that open the device themselves.
#[derive(Debug)]
pub struct EngineParts {
    /// Which device, and why.
    pub device: DeviceChoice,
    /// The tokenizer, if the checkpoint has one. Without it prompts and replies are ids only.
    pub tokenizer: Option<Tokenizer>,
    /// The source of the chat template and where it was found, if the checkpoint has one.
    pub template: Option<(String, String)>,
    /// The checkpoint's stop ids.
    pub stop_set: StopSet,
    /// What the checkpoint says about sampling and stop strings.
    pub generation: GenerationConfig,
    /// How long opening took.
    pub load_time: Duration,
}

impl Engine {
    /// An engine over a model that is resident already.
    pub fn from_parts(resident: Box<dyn Resident>, parts: EngineParts) -> Self {
        let (config, plan) = (resident.config().clone(), resident.plan().clone());
        let tokens = match &parts.tokenizer {
            Some(tokenizer) => Tokens::of(tokenizer, config.vocab),
            None => Tokens::all(config.vocab),
        };
        let sampling = SamplingDefaults::from(&parts.generation);
        Self(Arc::new(Inner { resident: Mutex::new(resident), config, plan, tokens, sampling, parts }))
    }

    /// The model's shape.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// What was decided at open.
    pub fn plan(&self) -> &Plan {
        &self.0.plan
    }

    /// Which device, and why.
    pub fn device(&self) -> &DeviceChoice {
        &self.0.parts.device
    }

    /// The tokenizer, if the checkpoint has one.
    pub fn tokenizer(&self) -> Option<&Tokenizer> {
        self.0.parts.tokenizer.as_ref()
    }

    /// The ids that end a reply, with who names each.
    pub fn stop_set(&self) -> &StopSet {
        &self.0.parts.stop_set
    }

    /// The ids that stand for a token: others are refused in prompts and never generated.
    pub fn tokens(&self) -> &Tokens {
        &self.0.tokens
    }

    /// What the checkpoint says about sampling. A request that says nothing gets this.
    pub fn sampling_defaults(&self) -> &SamplingDefaults {
        &self.0.sampling
    }

    /// How long opening took, from the call to the model being ready.
    pub fn load_time(&self) -> Duration {
        self.0.parts.load_time
    }

    /// Starts a reply in a sequence of its own.
    ///
    /// # Errors
    /// Before any work: `request_invalid`, `sampling_invalid` or `context_full`, each with everything that is wrong;
    /// `out_of_memory`. The iterator can end in `non_finite_logits`.
    pub fn generate(&self, request: Request) -> Result<Generation<'static>, Refusal> {
        Generation::alone(self, request)
    }

    /// A conversation, which keeps its sequence between generations. Holds up to the context's positions.
    pub fn conversation(&self) -> Conversation {
        Conversation::new(self, self.plan().context)
    }

    /// Launches of the latest command buffer, on a device that counts them.
    pub fn dispatches(&self) -> Option<usize> {
        self.resident().dispatches()
    }

    /// The device, for one step. A caller that panicked left no half-done state that the next step would see: what
    /// a sequence holds is asked of the device after every call.
    pub(crate) fn resident(&self) -> MutexGuard<'_, Box<dyn Resident>> {
        self.0.resident.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The source of the chat template and where it was found.
    pub(crate) fn template_source(&self) -> Option<&(String, String)> {
        self.0.parts.template.as_ref()
    }

    /// What requests in a sequence of `context` positions are checked against.
    pub(crate) fn facts(&self, context: usize) -> Facts<'_> {
        let parts = &self.0.parts;
        Facts {
            tokens: self.tokens(),
            context,
            tokenizer: self.tokenizer(),
            stop_set: &parts.stop_set,
            stop_strings: &parts.generation.stop_strings,
            sampling: &self.0.sampling,
        }
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("plan", self.plan()).finish_non_exhaustive()
    }
}
