//! Times loading, prefill and decode of a checkpoint on this processor.
//!
//! `cargo run --release -p tilewright-cpu --example speed -- DIR FORMAT PROMPT NEW [RUNS] [THREADS] [CACHE]`
#![expect(clippy::print_stdout, reason = "an example prints its result")]

use std::env::args;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

use tilewright_backend::{Cancel, LogitSink, Step};
use tilewright_cpu::{CpuOptions, open};
use tilewright_model::Checkpoint;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = args().skip(1).collect();
    let number = |index: usize, default: usize| args.get(index).map_or(Ok(default), |a| a.parse());
    let [folder, format, ..] = args.as_slice() else {
        return Err("usage: speed DIR FORMAT PROMPT NEW [RUNS] [THREADS] [CACHE]".into());
    };
    let (prompt, new, runs) = (number(2, 128)?, number(3, 64)?, number(4, 5)?);
    let start = Instant::now();
    let checkpoint = Checkpoint::open(Path::new(folder))?;
    let options = CpuOptions {
        weights: Some(format.parse()?),
        threads: Some(number(5, 2)?),
        cache_dir: args.get(6).map(Into::into),
        ..CpuOptions::default()
    };
    let mut model = open(&checkpoint, &options, &mut |_| ())?;
    println!("{:?}\nloaded in {:.2} s", model.plan(), start.elapsed().as_secs_f64());

    let vocab = model.config().vocab;
    let ids: Vec<u32> = (0..prompt).map(|i| ((i * i * 31 + i * 17 + 5) % vocab) as u32).collect();
    let mut logits = vec![0.0; vocab];
    let (mut prefills, mut decodes) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let sequence = model.create(prompt + new)?;
        let start = Instant::now();
        model.prefill(sequence, &ids, LogitSink::Last(&mut logits), &Cancel::default())?;
        prefills.push(prompt as f64 / start.elapsed().as_secs_f64());
        let start = Instant::now();
        for _ in 0..new {
            let best =
                logits.iter().enumerate().fold(0, |best, (i, v)| if *v > logits[best] { i } else { best });
            model.decode(&[Step { sequence, token: best as u32 }], &mut logits)?;
        }
        decodes.push(new as f64 / start.elapsed().as_secs_f64());
        model.release(sequence);
    }
    for (what, mut rates) in [("prefill", prefills), ("decode", decodes)] {
        rates.sort_by(f64::total_cmp);
        let (least, most) = (rates[0], rates[rates.len() - 1]);
        println!("{what}: {least:.1} / {:.1} / {most:.1} tokens a second", rates[rates.len() / 2]);
    }
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        status.lines().filter(|l| l.starts_with("VmHWM")).for_each(|l| println!("{l}"));
    }
    Ok(())
}
