//! Writes a seeded checkpoint: `cargo xtask seeded --preset qwen3-0.6b --out DIR --seed N`.

use std::path::PathBuf;

use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use tilewright_gate::seeded::{Preset, write};

/// Writes a checkpoint of random weights in the shape of a published model.
#[derive(Parser)]
#[command(name = "cargo xtask seeded")]
struct Args {
    /// The shape: qwen3-0.6b, qwen3-8b, smollm2-135m.
    #[arg(long)]
    preset: Preset,
    /// The directory to write.
    #[arg(long)]
    out: PathBuf,
    /// The seed of every weight.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Keep only so many layers.
    #[arg(long)]
    layers: Option<usize>,
    /// A directory whose tokenizer.json and tokenizer_config.json are copied beside the weights.
    #[arg(long)]
    tokenizer: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let mut config = args.preset.config();
    config.layers = args.layers.unwrap_or(config.layers);
    let style = ProgressStyle::with_template("{wide_bar} {percent} %, {eta} left")?;
    let bar = ProgressBar::new(1000).with_style(style);
    write(&config, args.seed, &args.out, &mut |share| bar.set_position((share * 1000.0) as u64))?;
    bar.finish_and_clear();
    if let Some(from) = args.tokenizer {
        for name in ["tokenizer.json", "tokenizer_config.json"] {
            std::fs::copy(from.join(name), args.out.join(name))?;
        }
    }
    Ok(())
}
