//! One prompt sampled in several ways, a word forbidden by logit bias among them, and the model's own choices.
//!
//! `cargo run --release -p tilewright-engine --example sampling [-- MODEL DIR]`
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::collections::BTreeMap;
use std::env::args;
use std::error::Error;

use tilewright_engine::{Engine, OpenOptions, Request, Sampling, Source};

fn main() -> Result<(), Box<dyn Error>> {
    let source = args().nth(1).map_or(Source::Embedded, |dir| Source::Path(dir.into()));
    let engine = Engine::open(source, &OpenOptions::default(), &mut |_| ())?;
    let prompt = engine.encode("Once upon a time, there was a")?;
    let greedy = Sampling { temperature: Some(0.0), ..Sampling::default() };
    let request = Request { max_tokens: Some(12), sampling: greedy.clone(), ..Request::new(prompt.clone()) };
    let first = engine.generate(Request { logprobs: Some(3), ..request.clone() })?.reply()?;
    println!("greedy: {}", first.text);
    if let (Some(top), Some(tokenizer)) = (first.logprobs.first(), engine.tokenizer()) {
        for choice in &top.top {
            println!(
                "    {:6.2} % {:?}",
                100.0 * choice.logprob.exp(),
                tokenizer.decode(&[choice.id], false)?
            );
        }
    }

    // -100 forbids a token; the next best takes its place.
    let forbidden: BTreeMap<u32, f64> = first.ids.first().map(|id| (*id, -100.0)).into_iter().collect();
    let without = Sampling { logit_bias: forbidden, ..greedy };
    println!(
        "without its first word: {}",
        engine.generate(Request { sampling: without, ..request.clone() })?.reply()?.text
    );

    for seed in 1..=3 {
        let sampling =
            Sampling { temperature: Some(0.9), top_p: Some(0.95), seed: Some(seed), ..Sampling::default() };
        println!("seed {seed}: {}", engine.generate(Request { sampling, ..request.clone() })?.reply()?.text);
    }
    Ok(())
}
