//! How likely a model finds a text, word by word, in the format of choice.
//!
//! `cargo run --release -p tilewright-engine --example score -- "The sun was shining" int8 [MODEL DIR]`
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::env::args;
use std::error::Error;

use tilewright_engine::{Engine, OpenOptions, ScoreOptions, Source};

fn main() -> Result<(), Box<dyn Error>> {
    let text = args().nth(1).unwrap_or_else(|| "The sun was shining and the birds were singing.".to_owned());
    let weights = args().nth(2).map(|format| format.parse()).transpose()?;
    let source = args().nth(3).map_or(Source::Embedded, |dir| Source::Path(dir.into()));
    let engine = Engine::open(source, &OpenOptions { weights, ..OpenOptions::default() }, &mut |_| ())?;
    let ids = engine.encode(&text)?;
    let score = engine.score(&ids, &ScoreOptions::default(), &mut |_, _| ())?;
    if let Some(tokenizer) = engine.tokenizer() {
        for (id, nll) in ids[1..].iter().zip(&score.nll) {
            println!("{:6.2} %  {:?}", 100.0 * (-nll).exp(), tokenizer.decode(&[*id], false)?);
        }
    }
    println!("{:.4} nats a token, perplexity {:.2}", score.mean(), score.perplexity());
    Ok(())
}
