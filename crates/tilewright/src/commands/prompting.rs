//! From a prompt as it was given to the ids the model takes.

use tilewright_engine::ReasoningSplitter;
use tilewright_engine::sampling::SamplingSet;
use tilewright_model::{ChatRole, ChatTemplate, Code, Finding, Message, Refusal, RenderArgs};

use crate::commands::session::Session;
use crate::console::Console;
use crate::flags::{Prompt, TemplateChoice};

/// A prompt as the model takes it.
pub(crate) struct Rendered {
    /// Its ids.
    pub ids: Vec<u32>,
    /// Whether the reply goes on with a text of the prompt instead of beginning one of its own.
    pub continuation: bool,
    /// What tells reasoning from answer in the reply.
    pub splitter: ReasoningSplitter,
    /// Whether the model may reason before it answers.
    pub reasons: bool,
}

/// Warns where a model that may reason always takes the likeliest token: makers of such models advise against it.
pub(crate) fn warn_of_loops(reasons: bool, sampling: &SamplingSet, console: &Console) {
    if reasons && sampling.is_greedy() {
        console
            .notice("warning", "greedy reasoning can repeat itself without end; sample, or --thinking off");
    }
}

/// Brings a prompt into the form the model takes.
///
/// # Errors
/// What the tokenizer or the template refuses.
pub(crate) fn render(
    prompt: Prompt,
    template: TemplateChoice,
    session: &Session,
    console: &Console,
) -> Result<Rendered, Refusal> {
    Prompter::new(template, session, console).render(prompt)
}

/// Renders many prompts with one template, which is compiled for the first conversation.
pub(crate) struct Prompter<'a> {
    template: TemplateChoice,
    chat: Option<Chat>,
    session: &'a Session,
    console: &'a Console,
}

impl<'a> Prompter<'a> {
    /// With the template of the flags, else the model's.
    pub(crate) fn new(template: TemplateChoice, session: &'a Session, console: &'a Console) -> Self {
        Self { template, chat: None, session, console }
    }

    /// As [`render`].
    ///
    /// # Errors
    /// What the tokenizer or the template refuses.
    pub(crate) fn render(&mut self, prompt: Prompt) -> Result<Rendered, Refusal> {
        let session = self.session;
        match prompt {
            Prompt::Ids(ids) => {
                let splitter = ReasoningSplitter::raw("");
                Ok(Rendered { ids, continuation: true, splitter, reasons: false })
            }
            Prompt::Text { text, raw } => {
                let ids = session.encode(&text, raw)?;
                let splitter = ReasoningSplitter::raw(&text);
                Ok(Rendered { ids, continuation: true, splitter, reasons: false })
            }
            Prompt::Chat(messages) => {
                let chat = match self.chat.take() {
                    Some(chat) => chat,
                    None => Chat::new(self.template.clone(), session, self.console)?,
                };
                self.chat.insert(chat).render(&messages, session)
            }
        }
    }
}

/// The chat template in effect, with its arguments.
pub(crate) struct Chat {
    template: ChatTemplate,
    args: RenderArgs,
}

impl Chat {
    /// The template of the flags, else the model's; says which.
    ///
    /// # Errors
    /// `template_invalid`, also when there is none; `tokenizer_invalid` without one.
    pub(crate) fn new(choice: TemplateChoice, session: &Session, console: &Console) -> Result<Self, Refusal> {
        let tokenizer = session.tokenizer()?;
        let template = match choice.file {
            Some((text, place)) => ChatTemplate::new(&text, tokenizer, &place)?,
            None => session.engine.template()?,
        };
        let mut unread = Vec::new();
        if choice.enable_thinking == Some(true) && !template.names("enable_thinking") {
            unread.push(Finding::new("--thinking", "off: the chat template knows no such switch", "on"));
        }
        for name in choice.arguments.keys().filter(|name| !template.names(name)) {
            let expected = "a variable that the chat template reads";
            unread.push(Finding::new(format!("--template-arg {name}"), expected, "another one"));
        }
        Refusal::check(Code::RequestInvalid, unread)?;
        console.notice("template", template.place());
        let args = RenderArgs {
            enable_thinking: choice.enable_thinking,
            extra: choice.arguments,
            ..RenderArgs::default()
        };
        Ok(Self { template, args })
    }

    /// Renders a conversation for the assistant to reply, or to continue its own last message.
    ///
    /// # Errors
    /// `template_invalid`, `message_invalid`, `content_unprotected`, `text_unencodable`.
    pub(crate) fn render(&self, messages: &[Message], session: &Session) -> Result<Rendered, Refusal> {
        let continued = messages.last().is_some_and(|last| last.role == ChatRole::Assistant);
        let args = RenderArgs {
            add_generation_prompt: !continued,
            continue_final_message: continued,
            ..self.args.clone()
        };
        let prompt = self.template.render(messages, &args)?;
        let ids = session.tokenizer()?.encode_chat(&prompt)?;
        let splitter = ReasoningSplitter::new(&prompt);
        let reasons =
            self.template.names("enable_thinking") && self.args.enable_thinking != Some(false) && !continued;
        Ok(Rendered { ids, continuation: continued, splitter, reasons })
    }
}
