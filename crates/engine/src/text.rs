//! From text and messages to the ids of a prompt.

use tilewright_model::{ChatTemplate, Code, Message, Refusal, RenderArgs, Specials, Tokenizer};

use crate::Engine;

impl Engine {
    /// The ids of a text that the model is to continue. Control tokens spelled in it are plain text.
    ///
    /// # Errors
    /// `tokenizer_invalid` without a tokenizer, `text_unencodable`.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, Refusal> {
        self.reads_text()?.encode_prompt(text, Specials::Plain)
    }

    /// The ids of a conversation that the model is to reply to, by the checkpoint's template. Control tokens spelled
    /// in messages are plain text.
    ///
    /// # Errors
    /// Those of [`template`](Self::template); `message_invalid`, `content_unprotected`, `text_unencodable`.
    pub fn encode_chat(&self, messages: &[Message], args: &RenderArgs) -> Result<Vec<u32>, Refusal> {
        let prompt = self.template()?.render(messages, args)?;
        self.reads_text()?.encode_chat(&prompt)
    }

    /// The checkpoint's chat template, compiled.
    ///
    /// # Errors
    /// `template_invalid` when it cannot be used, or there is none; `tokenizer_invalid` without a tokenizer.
    pub fn template(&self) -> Result<ChatTemplate, Refusal> {
        let tokenizer = self.reads_text()?;
        match self.template_source() {
            Some((source, place)) => ChatTemplate::new(source, tokenizer, place),
            None => {
                Err(Refusal::new(Code::TemplateInvalid, "chat template", "one in the checkpoint", "none"))
            }
        }
    }

    /// The tokenizer, which text needs.
    ///
    /// # Errors
    /// `tokenizer_invalid` without one.
    pub fn reads_text(&self) -> Result<&Tokenizer, Refusal> {
        self.tokenizer().ok_or_else(no_tokenizer)
    }
}

/// There is no tokenizer where text is to be read.
pub(crate) fn no_tokenizer() -> Refusal {
    let expected = "a file, to read and write text; ids need none";
    Refusal::new(Code::TokenizerInvalid, "tokenizer.json", expected, "none")
}

#[cfg(test)]
mod tests;
