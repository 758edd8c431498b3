//! The conversation: what was said, and how the next reply is made.

use serde_json::Value;
use tilewright_engine::sampling::SamplingSet;
use tilewright_engine::{Cancel, Conversation, Sampling};
use tilewright_model::{ChatRole, Message};

use crate::commands::prompting::{Chat, warn_of_loops};
use crate::commands::session::Session;
use crate::commands::{describe, reply};
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::{Limits, Reasoning};
use crate::interrupt::Interrupt;

/// A conversation with a model.
pub(crate) struct Talk<'a> {
    /// The model.
    pub session: &'a Session,
    /// The template that every turn goes through.
    pub chat: Chat,
    /// What happens to a reasoning block.
    pub reasoning: Reasoning,
    /// How tokens are chosen; a seed given is the seed of every reply.
    pub sampling: Sampling,
    /// When a reply ends.
    pub limits: Limits,
    /// What Ctrl-C stops.
    pub interrupt: &'a Interrupt,
    /// The system message.
    pub system: Option<String>,
    /// What was said, without the system message.
    pub messages: Vec<Message>,
    /// What the engine holds of it.
    pub conversation: Conversation,
    /// The sampling settings of the latest reply.
    pub latest: Option<SamplingSet>,
}

impl Talk<'_> {
    /// One message and its reply; whether Ctrl-C cut the reply. What was cut stays said. A refused turn leaves no
    /// trace.
    ///
    /// # Errors
    /// What the template or the engine refuses, and a standard output that cannot be written.
    pub(crate) fn turn(&mut self, text: String, console: &mut Console) -> Result<bool, Failure> {
        let system = self.system.clone().map(|text| Message::new(ChatRole::System, text));
        let user = Message::new(ChatRole::User, text);
        let messages: Vec<Message> =
            system.into_iter().chain(self.messages.iter().cloned()).chain([user.clone()]).collect();
        let prompt = self.chat.render(&messages, self.session)?;

        let cancel = Cancel::default();
        let request = self.limits.request(prompt.ids, self.sampling.clone(), cancel.clone());
        let generation = self.conversation.generate(request)?;
        let sampling = generation.sampling().clone();
        if self.latest.is_none() {
            warn_of_loops(prompt.reasons, &sampling, console);
        }
        announce(self.latest.replace(sampling.clone()), &sampling, console);
        let guard = self.interrupt.guard(cancel);
        let reply = reply::stream(generation, (prompt.splitter, self.reasoning), self.session, console)?;
        drop(guard);

        reply.end(console)?;
        reply.report(console, self.limits.max_tokens);
        if console.json() {
            let mut object = reply.json(self.session.engine.tokenizer());
            object.insert("sampling".into(), describe::sampling_json(&sampling));
            console.object(&Value::Object(object))?;
        }
        let cancelled = reply.cancelled();
        self.messages.extend([user, Message::new(ChatRole::Assistant, reply.text)]);
        Ok(cancelled)
    }
}

/// Says how a reply is sampled; after the first turn only what is new, the seed.
fn announce(latest: Option<SamplingSet>, sampling: &SamplingSet, console: &Console) {
    match latest {
        None => console.notice("sampling", &describe::sampling(sampling)),
        Some(latest) if latest.seed == sampling.seed || sampling.is_greedy() => {}
        Some(_) => console.notice("seed", &sampling.seed.value.to_string()),
    }
}
