//! `chat`: a conversation.
//!
//! Entries come from a terminal or a pipe (`entry`, `input`); `talk` holds what was said. Replies go to standard output, everything else to
//! standard error. The whole conversation is rendered for every turn, and the engine reuses what it holds of it.
//! Nothing is written to disk: the history of the line editor lasts as long as the conversation.

mod entry;
mod input;
mod talk;

use clap::Args;
use tilewright_engine::{Cancel, Sampling};
use tilewright_model::{Code, Refusal};

use self::entry::Entry;
use self::talk::Talk;
use crate::commands::prompting::Chat;
use crate::commands::session::Session;
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::{
    Limits, ModelChoice, ModelFlags, OutputFlags, SamplingFlags, StoppingFlags, TemplateChoice, TemplateFlags,
};
use crate::interrupt::Interrupt;

/// Hold a conversation
///
/// Each entry is a message of the user. A line that ends in a backslash goes on in the next; """ begins and ends a
/// block of lines. /help lists the commands. Ctrl-C stops a reply and pressed again leaves; Ctrl-D leaves. With
/// standard input from a pipe each entry is read from it, and the first refusal ends the conversation.
#[derive(Args, Debug)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    template: TemplateFlags,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    sampling: SamplingFlags,
    #[command(flatten)]
    stopping: StoppingFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// What the arguments mean.
struct Job {
    system: Option<String>,
    template: TemplateChoice,
    model: ModelChoice,
    sampling: Sampling,
    limits: Limits,
}

impl ChatArgs {
    fn resolve(self) -> Result<Job, Failure> {
        Ok(Job {
            system: self.template.system.clone(),
            template: self.template.resolve()?,
            model: self.model.resolve(),
            sampling: self.sampling.resolve(),
            limits: self.stopping.resolve(),
        })
    }
}

const HELP: &str = "\
/help           this list
/reset          forget the conversation; the system message stays
/system [TEXT]  set the system message from the next turn on; without TEXT, take it away
/exit           leave, as Ctrl-D does
A line that ends in \\ goes on in the next; \"\"\" begins and ends a block of lines.";

/// Carries `chat` out.
pub(crate) fn run(args: ChatArgs, console: &mut Console) -> Result<(), Failure> {
    let interrupt = Interrupt::install();
    let job = args.resolve()?;
    job.limits.request(Vec::new(), job.sampling.clone(), Cancel::default()).check()?;
    let session = Session::open(job.model.reading(true), console)?;
    let mut talk = Talk {
        session: &session,
        reasoning: job.template.reasoning,
        chat: Chat::new(job.template, &session, console)?,
        sampling: job.sampling,
        limits: job.limits,
        interrupt: &interrupt,
        system: job.system,
        messages: Vec::new(),
        conversation: session.engine.conversation(),
        latest: None,
    };
    let mut input = input::open()?;
    console.notice("chat", "/help lists the commands");

    // The first Ctrl-C stops (a reply, or an entry half made), a second one leaves.
    let mut stopped = false;
    loop {
        let again = stopped;
        stopped = false;
        match entry::read(input.as_mut())? {
            Entry::Exit => return Ok(()),
            Entry::Unfinished => {
                let expected = "a block that \"\"\" ends";
                return Err(
                    Refusal::new(Code::MessageInvalid, "message", expected, "the end of the input").into()
                );
            }
            Entry::Interrupted if again => return Err(Failure::Interrupted),
            Entry::Interrupted => {
                console.notice("chat", "Ctrl-C again leaves");
                stopped = true;
            }
            Entry::Help => console.notice("chat", HELP),
            Entry::Reset => talk.messages.clear(),
            Entry::System(text) => talk.system = text,
            Entry::Unknown(text) => {
                console.notice("chat", &format!("{text} is no command; /help lists them"))
            }
            Entry::Say(text) => match talk.turn(text, console) {
                Ok(cut) => stopped = cut,
                // A person can go on after a refusal (/reset, a shorter message); a script has to be told.
                Err(Failure::Refused(refusal)) if input.interactive() => console.refusal(&refusal),
                Err(failure) => return Err(failure),
            },
        }
    }
}
