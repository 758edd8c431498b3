//! What the model is given.
//!
//! | given | the prompt is |
//! | --- | --- |
//! | `-p`, `-f` | the text, continued as it is; control tokens spelled in it are text |
//! | `-p`, `-f` with `--raw` | the text, continued as it is; control tokens spelled in it are control tokens |
//! | `-p`, `-f` with `--chat` or a flag about the template | one message of the user, through the chat template |
//! | `--messages` | a conversation, through the chat template |
//! | `--ids` | the ids |
//! | `--batch` | one line of a file after the other: `prompt` as `-p`, `messages` or `ids` |
//!
//! So a base or story model is simply continued, and nothing is wrapped in a template unasked. One line break at the
//! end of a file or of standard input is not part of the prompt.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use tilewright_model::{ChatRole, Code, Message, Refusal};

use super::{TemplateFlags, read_text};

/// Flags that name the prompt; exactly one of them.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Prompt")]
#[command(group = ArgGroup::new("source").required(true).args(["prompt", "file", "ids", "messages", "batch"]))]
pub(crate) struct PromptFlags {
    /// Text to continue; `-` reads standard input
    #[arg(short, long, value_name = "TEXT")]
    pub prompt: Option<String>,

    /// File with the text to continue; `-` reads standard input
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Token ids to continue, separated by commas
    #[arg(long, value_name = "ID,…", value_delimiter = ',', conflicts_with_all = ["raw", "chat", "template"])]
    pub ids: Option<Vec<u32>>,

    /// JSON file with a conversation, a list of {"role", "content"}; `-` reads standard input. A last message of the
    /// assistant is continued
    #[arg(long, value_name = "FILE", conflicts_with_all = ["raw", "system"])]
    pub messages: Option<PathBuf>,

    /// JSON lines file with many prompts, each {"prompt": TEXT}, {"messages": [...]} or {"ids": [...]}, with an "id" if
    /// wanted. Replies go to --replies, in the same order; started again, it goes on where it was stopped
    #[arg(long, value_name = "FILE", requires = "replies")]
    pub batch: Option<PathBuf>,

    /// File that the replies of --batch go to, one JSON object a line
    #[arg(long, value_name = "FILE", requires = "batch", conflicts_with_all = ["prompt", "file", "ids", "messages"])]
    pub replies: Option<PathBuf>,

    /// Apply the chat template, the text being the user's message. Implied by --system, --chat-template,
    /// --template-arg and --thinking
    #[arg(long)]
    pub chat: bool,

    /// Take control tokens spelled in the text as control tokens, for prompts that are templated already
    #[arg(long, conflicts_with_all = ["chat", "template"])]
    pub raw: bool,
}

/// What the flags mean.
#[derive(Clone, Debug)]
pub(crate) enum Prompt {
    /// Text to continue.
    Text {
        /// The text.
        text: String,
        /// Whether control tokens spelled in it are control tokens.
        raw: bool,
    },
    /// A conversation to be put through the template.
    Chat(Vec<Message>),
    /// Ids.
    Ids(Vec<u32>),
}

/// How a text becomes a prompt.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// Whether it is a message of the user.
    chat: bool,
    /// The message before it.
    pub system: Option<String>,
    /// Whether control tokens spelled in it are control tokens.
    raw: bool,
}

impl Frame {
    /// The prompt of a text.
    pub(crate) fn prompt(&self, text: String) -> Prompt {
        if !self.chat {
            return Prompt::Text { text, raw: self.raw };
        }
        let system = self.system.clone().map(|text| Message::new(ChatRole::System, text));
        Prompt::Chat(system.into_iter().chain([Message::new(ChatRole::User, text)]).collect())
    }
}

impl PromptFlags {
    /// How texts become prompts.
    pub(crate) fn frame(&self, template: &TemplateFlags) -> Frame {
        Frame { chat: self.chat || template.implies_chat(), system: template.system.clone(), raw: self.raw }
    }

    /// Resolves the flags, reading the file or standard input they name.
    ///
    /// # Errors
    /// `file_unreadable`, `message_invalid`.
    pub(crate) fn resolve(self, template: &TemplateFlags) -> Result<Prompt, Refusal> {
        let frame = self.frame(template);
        let text = match (self.prompt, self.file, self.ids, self.messages) {
            (_, _, Some(ids), _) => return Ok(Prompt::Ids(ids)),
            (_, _, _, Some(path)) => return read_messages(&path).map(Prompt::Chat),
            (_, Some(path), ..) => without_line_break(read_text(&path)?),
            (Some(text), ..) if text == "-" => without_line_break(read_text(Path::new("-"))?),
            (text, ..) => text.unwrap_or_default(),
        };
        Ok(frame.prompt(text))
    }
}

fn read_messages(path: &Path) -> Result<Vec<Message>, Refusal> {
    let value = serde_json::from_str(&read_text(path)?)
        .map_err(|error| Refusal::new(Code::MessageInvalid, "messages", "JSON", error))
        .and_then(|value| Message::list_from_json(&value));
    value.map_err(|refusal| refusal.at(path.display()))
}

fn without_line_break(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

#[cfg(test)]
mod tests;
