//! candle as a peer of `tilewright bench`: one JSON object a line each way, as `crates/gate/src/peer.rs` has it.

mod engine;

use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::Instant;

use engine::Engine;
use serde::Deserialize;
use serde_json::{Value, json};

/// What is asked.
#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Request {
    Open { model: String, weights: String, threads: usize },
    Logits { ids: Vec<u32> },
    Run(Run),
}

#[derive(Deserialize)]
struct Run {
    depth: usize,
    prompt: usize,
    steps: usize,
    given: bool,
    ids: Vec<Vec<u32>>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut engine = None;
    for line in stdin().lock().lines() {
        let reply =
            answer(&mut engine, &line?).unwrap_or_else(|error| json!({ "refused": error.to_string() }));
        writeln!(stdout(), "{reply}")?;
        stdout().flush()?;
    }
    Ok(())
}

fn answer(open: &mut Option<Engine>, line: &str) -> Result<Value, Box<dyn Error>> {
    match serde_json::from_str(line)? {
        Request::Open { model, weights, threads } => {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
            let engine = open.insert(Engine::open(model.as_ref(), &weights)?);
            let precision = format!("weights {weights}, activations {weights}, keys and values {weights}");
            Ok(json!({ "version": engine::VERSION, "precision": precision, "remarks": [engine.family()] }))
        }
        Request::Logits { ids } => {
            let engine = open.as_mut().ok_or("no model is open")?;
            engine.clear()?;
            Ok(json!({ "logits": engine.forward(&ids)? }))
        }
        Request::Run(run) => timed(open.as_mut().ok_or("no model is open")?, &run),
    }
}

/// One run. There is no way to drop the end of a cache, so ids before the timed ones are computed anew each time.
fn timed(engine: &mut Engine, run: &Run) -> Result<Value, Box<dyn Error>> {
    let [ids] = run.ids.as_slice() else { return Err("this adapter runs one sequence".into()) };
    let (before, prompt) = ids.split_at(run.depth);
    engine.clear()?;
    let mut token = if before.is_empty() { None } else { Some(engine.step(before)?) };
    let (mut chosen, mut prompt_ns, mut decode_ns) = (Vec::new(), None, None);
    if run.prompt > 0 {
        let start = Instant::now();
        token = Some(engine.step(&prompt[..run.prompt])?);
        prompt_ns = Some(start.elapsed().as_nanos() as u64);
    }
    if run.given {
        token = ids.last().copied();
    } else {
        chosen.extend(token);
    }
    if run.steps > 0 {
        let start = Instant::now();
        for _ in 0..run.steps {
            let next = engine.step(&[token.ok_or("steps after nothing")?])?;
            chosen.push(next);
            token = Some(next);
        }
        decode_ns = Some(start.elapsed().as_nanos() as u64);
    }
    Ok(json!({ "prompt_ns": prompt_ns, "decode_ns": decode_ns, "ids": [chosen] }))
}
