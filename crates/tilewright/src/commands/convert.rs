//! `convert`: a checkpoint to the pair `manifest.json` and `weights.blob`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;
use tilewright_engine::Source;
use tilewright_model::convert::{Arm, BlobType, ConvertOptions, convert};
use tilewright_model::{Checkpoint, Refusal, Specials, Tokenizer};

use crate::console::{Console, bytes};
use crate::exit::Failure;
use crate::flags::OutputFlags;

/// Convert a checkpoint to manifest.json and weights.blob
///
/// Nothing is rounded, and memory stays within one tile of a tensor. docs/converted-checkpoint.md describes both files.
#[derive(Args, Debug)]
pub(crate) struct ConvertArgs {
    /// Checkpoint directory [default: the small story model inside the program]
    #[arg(short, long, value_name = "DIR")]
    model: Option<PathBuf>,

    /// Directory to write to, made if absent
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,

    /// Type of an element of the blob
    #[arg(long, value_name = "TYPE", value_enum, default_value = "f64")]
    dtype: Dtype,

    /// Text to fold into the manifest as the prompt
    #[arg(short, long, value_name = "TEXT", conflicts_with = "ids")]
    prompt: Option<String>,

    /// Token ids to fold into the manifest as the prompt, separated by commas
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    ids: Option<Vec<u32>>,

    /// Write the form of the fixed entry point, which serves the shape of Qwen3-0.6B-Base and no other
    #[arg(long)]
    fixed: bool,

    /// Replace a pair that is there already
    #[arg(long)]
    overwrite: bool,

    #[command(flatten)]
    pub output: OutputFlags,
}

/// Type of an element.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Dtype {
    F64,
    F32,
}

/// What the arguments mean.
struct Job {
    source: Source,
    out: PathBuf,
    prompt: Prompt,
    dtype: BlobType,
    arm: Arm,
    overwrite: bool,
}

enum Prompt {
    Ids(Vec<u32>),
    Text(String),
}

impl ConvertArgs {
    fn resolve(self) -> Job {
        Job {
            source: self.model.map_or(Source::Embedded, Source::Path),
            out: self.out,
            prompt: match self.prompt {
                Some(text) => Prompt::Text(text),
                None => Prompt::Ids(self.ids.unwrap_or_default()),
            },
            dtype: match self.dtype {
                Dtype::F64 => BlobType::F64,
                Dtype::F32 => BlobType::F32,
            },
            arm: if self.fixed { Arm::Fixed } else { Arm::AnyModel },
            overwrite: self.overwrite,
        }
    }
}

/// Carries `convert` out.
pub(crate) fn run(args: ConvertArgs, console: &mut Console) -> Result<(), Failure> {
    let job = args.resolve();
    let checkpoint = match &job.source {
        Source::Embedded => Checkpoint::embedded()?,
        Source::Path(path) => Checkpoint::open(path)?,
    };
    let ids = ids(job.prompt, &checkpoint)?;
    let options =
        ConvertOptions { dtype: job.dtype, arm: job.arm, input_ids: &ids, overwrite: job.overwrite };
    let bar = console.bar("converting");
    let mut written = 0;
    convert(&checkpoint, &job.out, &options, &mut |done, total| {
        written = done;
        bar.report(done, total);
    })?;
    drop(bar);

    let out = job.out.display().to_string();
    console.notice("done", &format!("{} in {out}, prompt of {} tokens", bytes(written), ids.len()));
    if console.json() {
        let dtype = job.dtype.stored().to_string();
        console.object(&json!({"out": out, "dtype": dtype, "bytes": written, "prompt_tokens": ids.len()}))?;
    }
    Ok(())
}

fn ids(prompt: Prompt, checkpoint: &Checkpoint) -> Result<Vec<u32>, Refusal> {
    match prompt {
        Prompt::Ids(ids) => Ok(ids),
        Prompt::Text(text) => Tokenizer::from_checkpoint(checkpoint)?.encode_prompt(&text, Specials::Plain),
    }
}
