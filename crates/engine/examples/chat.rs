//! A conversation of two turns: the second turn's prompt reuses what the first left in the cache.
//!
//! `cargo run --release -p tilewright-engine --example chat [-- MODEL DIR]`
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::env::args;
use std::error::Error;

use tilewright_engine::{ChatRole, Engine, Message, OpenOptions, RenderArgs, Request, Source};

fn main() -> Result<(), Box<dyn Error>> {
    let source = args().nth(1).map_or(Source::Embedded, |dir| Source::Path(dir.into()));
    let engine = Engine::open(source, &OpenOptions::default(), &mut |_| ())?;
    let mut conversation = engine.conversation();
    let mut messages = Vec::new();
    for question in ["Tell me a short story about an owl.", "And one about a fox."] {
        messages.push(Message::new(ChatRole::User, question));
        let prompt = engine.encode_chat(&messages, &RenderArgs::default())?;
        let request = Request { max_tokens: Some(80), ..Request::new(prompt) };
        let reply = conversation.generate(request)?.reply()?;
        let usage = reply.done.usage;
        println!("> {question}\n{}", reply.text.trim());
        println!("({} of {} prompt tokens were in the cache)\n", usage.cached_tokens, usage.prompt_tokens);
        messages.push(Message::new(ChatRole::Assistant, reply.text));
    }
    Ok(())
}
