//! Continues a text, printing it as it comes.
//!
//! `cargo run --release -p tilewright-engine --example generate -- "Once upon a time" [MODEL DIR]`
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints its result")]

use std::env::args;
use std::error::Error;
use std::io::{Write, stdout};

use tilewright_engine::{Engine, Event, OpenOptions, Request, Sampling, Source};

fn main() -> Result<(), Box<dyn Error>> {
    let prompt = args().nth(1).unwrap_or_else(|| "Once upon a time".to_owned());
    let source = args().nth(2).map_or(Source::Embedded, |dir| Source::Path(dir.into()));
    let engine = Engine::open(source, &OpenOptions::default(), &mut |_| ())?;
    let request = Request {
        max_tokens: Some(100),
        sampling: Sampling { temperature: Some(0.7), seed: Some(1), ..Sampling::default() },
        stop: vec!["The end".to_owned()],
        // The text goes on from the prompt's.
        continuation: true,
        ..Request::new(engine.encode(&prompt)?)
    };
    print!("{prompt}");
    for event in engine.generate(request)? {
        match event? {
            Event::Text(piece) => {
                print!("{piece}");
                stdout().flush()?;
            }
            Event::Done(done) => {
                let rate = done.timings.decode_rate().unwrap_or_default();
                eprintln!(
                    "\n\n{} tokens, {rate:.0} a second, {:?}",
                    done.usage.completion_tokens, done.reason
                );
            }
            Event::Prefill { .. } | Event::Token(_) => {}
        }
    }
    Ok(())
}
