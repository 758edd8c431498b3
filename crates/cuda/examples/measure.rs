//! Times a GPU on random weights: `cargo run --release -p tilewright-cuda --example measure -- FOLDER [qwen3-0.6b [safe|whole]]`.
//!
//! With `safe` what serves without the persistent kernel: single sequences in launches that overlap. With `whole` keys and values
//! lie as if the GPU could map no pages: a sequence's in one piece.
//!
//! The checkpoint is made in FOLDER if it is not there. Every trial is printed; nothing is timed before the persistent
//! decoder has chosen the tokens that the greatest logits of single steps name.

#![expect(clippy::print_stdout, reason = "its answer goes to standard output")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use tilewright_backend::{Cancel, Greedy, LogitSink, Resident, Sequence, Step};
use tilewright_cuda::{CudaModel, CudaOptions, open_model};
use tilewright_gate::seeded::{Preset, write};
use tilewright_model::{Checkpoint, Refusal, WeightFormat};

const TOKENS: usize = 128;
const TRIALS: usize = 7;

fn main() -> Result<(), Refusal> {
    let mut args = std::env::args().skip(1);
    let folder = PathBuf::from(args.next().unwrap_or_else(|| "seeded".to_owned()));
    let preset = args.next().and_then(|name| name.parse().ok()).unwrap_or(Preset::Qwen3Small);
    if !folder.join("config.json").exists() {
        write(&preset.config(), 0, &folder, &mut |_| ())?;
    }
    let checkpoint = Checkpoint::open(&folder)?;
    let how = args.next();
    if how.as_deref() == Some("safe") {
        return [false, true].into_iter().try_for_each(|hopper| safe(&checkpoint, preset, hopper));
    }
    for weights in [WeightFormat::Bf16, WeightFormat::Int8] {
        measure(&checkpoint, preset, weights, how.as_deref() != Some("whole"))?;
    }
    Ok(())
}

/// Single sequences where the persistent kernel does not serve.
fn safe(checkpoint: &Checkpoint, preset: Preset, hopper: bool) -> Result<(), Refusal> {
    let weights = Some(WeightFormat::Bf16);
    let options =
        CudaOptions { weights, hopper: Some(hopper), persistent: Some(false), ..CudaOptions::default() };
    let mut model = opened(checkpoint, preset, &options)?;
    check(&mut model)?;
    for position in [1, 128, 256, 512, 1024, 4096] {
        decode(&mut model, position)?;
    }
    steps(&mut model)
}

fn measure(
    checkpoint: &Checkpoint,
    preset: Preset,
    weights: WeightFormat,
    pages: bool,
) -> Result<(), Refusal> {
    let options = CudaOptions {
        weights: Some(weights),
        hopper: Some(true),
        pages: Some(pages),
        ..CudaOptions::default()
    };
    let mut model = opened(checkpoint, preset, &options)?;
    check(&mut model)?;
    for position in [1, 128, 512, 1024, 4096] {
        decode(&mut model, position)?;
    }
    steps(&mut model)?;
    for length in [512, 2048, 4096] {
        prefill(&mut model, length)?;
    }
    for batch in [2, 8, 32] {
        together(&mut model, batch)?;
    }
    Ok(())
}

fn opened(checkpoint: &Checkpoint, preset: Preset, options: &CudaOptions) -> Result<CudaModel, Refusal> {
    for round in ["cold or warm", "warm"] {
        let start = Instant::now();
        drop(open_model(checkpoint, options, &mut |_| Ok(()))?);
        println!("opened, {round}: {:.2} s", start.elapsed().as_secs_f64());
    }
    let model = open_model(checkpoint, options, &mut |_| Ok(()))?;
    let plan = model.plan();
    println!("{preset}: {}, {} weights, {} cache", plan.kernels, plan.weights, plan.kv);
    for note in &plan.notes {
        println!("  {note}");
    }
    Ok(model)
}

fn ids(model: &CudaModel, count: usize) -> Vec<u32> {
    let vocab = model.config().vocab as u64;
    (0..count as u64)
        .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % vocab)
        .map(|id| id as u32)
        .collect()
}

fn filled(model: &mut CudaModel, count: usize, room: usize) -> Result<Sequence, Refusal> {
    let (ids, sequence) = (ids(model, count), model.create(count + room)?);
    model.prefill(sequence, &ids, LogitSink::None, &Cancel::default())?;
    Ok(sequence)
}

/// Whether runs of tokens are what single steps choose.
fn check(model: &mut CudaModel) -> Result<(), Refusal> {
    let (one, many) = (filled(model, 100, 300)?, filled(model, 100, 300)?);
    let run = model.run(many, 5, 250, &[])?;
    let (mut token, mut same, mut logits) = (5, 0, vec![0.0; model.config().vocab]);
    for id in &run {
        model.decode(&[Step { sequence: one, token }], &mut logits)?;
        token =
            logits.iter().enumerate().fold(0, |best, (i, v)| if *v > logits[best] { i } else { best }) as u32;
        same += usize::from(token == *id);
    }
    println!("{same} of {} tokens of a run are those of single steps", run.len());
    model.release(one);
    model.release(many);
    Ok(())
}

fn decode(model: &mut CudaModel, position: usize) -> Result<(), Refusal> {
    let sequence = filled(model, position, TOKENS)?;
    let mut times = Vec::new();
    for trial in 0..=TRIALS {
        model.truncate(sequence, position);
        let start = Instant::now();
        model.run(sequence, 5, TOKENS, &[])?;
        if trial > 0 {
            times.push(start.elapsed());
        }
    }
    model.release(sequence);
    report(&format!("decode after {position}"), &times, TOKENS);
    Ok(())
}

fn steps(model: &mut CudaModel) -> Result<(), Refusal> {
    let sequence = filled(model, 128, TOKENS)?;
    let mut logits = vec![0.0; model.config().vocab];
    let mut times = Vec::new();
    for trial in 0..=TRIALS {
        model.truncate(sequence, 128);
        let start = Instant::now();
        for token in 0..TOKENS as u32 {
            model.decode(&[Step { sequence, token }], &mut logits)?;
        }
        if trial > 0 {
            times.push(start.elapsed());
        }
    }
    model.release(sequence);
    report("single steps with logits on the host, after 128", &times, TOKENS);
    Ok(())
}

fn prefill(model: &mut CudaModel, length: usize) -> Result<(), Refusal> {
    let ids = ids(model, length);
    let mut logits = vec![0.0; model.config().vocab];
    let mut times = Vec::new();
    for trial in 0..=TRIALS {
        let sequence = model.create(length)?;
        let start = Instant::now();
        model.prefill(sequence, &ids, LogitSink::Last(&mut logits), &Cancel::default())?;
        if trial > 0 {
            times.push(start.elapsed());
        }
        model.release(sequence);
    }
    report(&format!("prefill of {length}"), &times, length);
    Ok(())
}

fn together(model: &mut CudaModel, batch: usize) -> Result<(), Refusal> {
    let mut sequences = Vec::new();
    for _ in 0..batch {
        sequences.push(filled(model, 512, 40)?);
    }
    let mut logits = vec![0.0; batch * model.config().vocab];
    let mut times = Vec::new();
    for step in 0..16 {
        let steps: Vec<Step> = sequences.iter().map(|s| Step { sequence: *s, token: step }).collect();
        let start = Instant::now();
        model.decode(&steps, &mut logits)?;
        if step > 3 {
            times.push(start.elapsed());
        }
    }
    report(&format!("a step of {batch} sequences after 512, logits on the host"), &times, batch);
    times.clear();
    for trial in 0..=TRIALS {
        sequences.iter().for_each(|s| model.truncate(*s, 512));
        let run = |s: &Sequence| Greedy { sequence: *s, token: 5, count: 32, ends: &[] };
        let runs: Vec<Greedy<'_>> = sequences.iter().map(run).collect();
        let start = Instant::now();
        model.greedy_together(&runs, &Cancel::default())?;
        if trial > 0 {
            times.push(start.elapsed());
        }
    }
    sequences.into_iter().for_each(|s| model.release(s));
    report(&format!("32 greedy steps of {batch} sequences after 512"), &times, 32 * batch);
    Ok(())
}

fn report(what: &str, times: &[Duration], tokens: usize) {
    let mut sorted: Vec<f64> = times.iter().map(|t| t.as_secs_f64() * 1e3).collect();
    sorted.sort_by(f64::total_cmp);
    let median = sorted[sorted.len() / 2];
    let all: Vec<String> = times.iter().map(|t| format!("{:.2}", t.as_secs_f64() * 1e3)).collect();
    println!(
        "{what}: {median:.2} ms, {:.0} tok/s; trials {} ms",
        tokens as f64 / median * 1e3,
        all.join(" ")
    );
}
