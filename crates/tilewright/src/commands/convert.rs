//! `convert`: a checkpoint to the pair `manifest.json` and `weights.blob`, to GGUF or to safetensors.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde_json::json;
use tilewright_engine::Source;
use tilewright_model::convert::{
    Arm, BlobType, ConvertOptions, Quant, convert, write_gguf, write_safetensors,
};
use tilewright_model::{Checkpoint, Code, Finding, Refusal, Specials, Tokenizer, find_model};

use crate::console::{Console, bytes};
use crate::exit::Failure;
use crate::flags::OutputFlags;

/// Convert a checkpoint to manifest.json and weights.blob, to GGUF or to safetensors
///
/// Nothing is rounded but by --quant, and memory stays within one tile of a tensor. docs/converted-checkpoint.md describes
/// the pair of files, docs/models.md what is read of the others.
#[derive(Args, Debug)]
pub(crate) struct ConvertArgs {
    /// Checkpoint directory, GGUF file, org/name or org/name:file in the cache of Hugging Face [default: the small story model inside the program]
    #[arg(short, long, value_name = "DIR")]
    model: Option<PathBuf>,

    /// Directory to write to, made if absent; or a file FILE.gguf
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,

    /// Form to write
    #[arg(long, value_name = "FORM", value_enum, default_value = "converted")]
    to: Form,

    /// Mixture of types that the matrices are rounded to, in GGUF [default: as stored]
    #[arg(long, value_name = "MIX", value_parser = mixtures())]
    quant: Option<Quant>,

    /// Type of an element of the blob [default: f64]
    #[arg(long, value_name = "TYPE", value_enum)]
    dtype: Option<Dtype>,

    /// Text to fold into the manifest as the prompt
    #[arg(short, long, value_name = "TEXT", conflicts_with = "ids")]
    prompt: Option<String>,

    /// Token ids to fold into the manifest as the prompt, separated by commas
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    ids: Option<Vec<u32>>,

    /// Write the form of the fixed entry point, which serves the shape of Qwen3-0.6B-Base and no other
    #[arg(long)]
    fixed: bool,

    /// Replace what is there already
    #[arg(long)]
    overwrite: bool,

    #[command(flatten)]
    pub output: OutputFlags,
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// manifest.json and weights.blob
    Converted,
    /// One GGUF file, model.gguf in a directory
    Gguf,
    /// config.json, model.safetensors and the texts beside them
    Safetensors,
}

fn mixtures() -> impl TypedValueParser<Value = Quant> {
    PossibleValuesParser::new(Quant::ALL.map(|(_, name)| name)).map(|name| {
        let found = Quant::ALL.into_iter().find(|(_, known)| *known == name);
        found.map_or(Quant::Q8_0, |(quant, _)| quant)
    })
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
    /// Refuses flags of another form than the one asked for.
    fn check(&self) -> Result<(), Refusal> {
        let pair = [
            ("--dtype", self.dtype.is_some()),
            ("--prompt", self.prompt.is_some()),
            ("--ids", self.ids.is_some()),
            ("--fixed", self.fixed),
        ];
        let given = match self.to {
            Form::Converted => vec![("--quant", self.quant.is_some())],
            Form::Gguf => pair.to_vec(),
            Form::Safetensors => [&pair[..], &[("--quant", self.quant.is_some())]].concat(),
        };
        let findings = given.into_iter().filter(|(_, given)| *given);
        let findings = findings.map(|(flag, _)| Finding::new(flag, "not with this --to", "given"));
        Refusal::check(Code::RequestInvalid, findings.collect())
    }

    fn resolve(self) -> Job {
        Job {
            source: self.model.map_or(Source::Embedded, |model| Source::Path(find_model(&model))),
            out: self.out,
            prompt: match self.prompt {
                Some(text) => Prompt::Text(text),
                None => Prompt::Ids(self.ids.unwrap_or_default()),
            },
            dtype: match self.dtype {
                Some(Dtype::F32) => BlobType::F32,
                Some(Dtype::F64) | None => BlobType::F64,
            },
            arm: if self.fixed { Arm::Fixed } else { Arm::AnyModel },
            overwrite: self.overwrite,
        }
    }
}

/// Carries `convert` out.
pub(crate) fn run(args: ConvertArgs, console: &mut Console) -> Result<(), Failure> {
    args.check()?;
    let (form, quant) = (args.to, args.quant);
    let job = args.resolve();
    let checkpoint = match &job.source {
        Source::Embedded => Checkpoint::embedded()?,
        Source::Path(path) => Checkpoint::open(path)?,
    };
    if form != Form::Converted {
        return other_form(&checkpoint, (form, quant), &job, console);
    }
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

/// GGUF or safetensors.
fn other_form(
    checkpoint: &Checkpoint,
    (form, quant): (Form, Option<Quant>),
    job: &Job,
    console: &mut Console,
) -> Result<(), Failure> {
    let is_file = job.out.extension().is_some_and(|extension| extension == "gguf");
    let out = match form {
        Form::Gguf if !is_file => job.out.join("model.gguf"),
        _ => job.out.clone(),
    };
    let bar = console.bar("converting");
    let mut written = 0;
    let mut progress = |done, total| {
        written = done;
        bar.report(done, total);
    };
    match form {
        Form::Gguf => write_gguf(checkpoint, &out, quant, job.overwrite, &mut progress)?,
        Form::Safetensors | Form::Converted => {
            write_safetensors(checkpoint, &out, job.overwrite, &mut progress)?;
        }
    }
    drop(bar);
    let out = out.display().to_string();
    console.notice("done", &format!("{} in {out}", bytes(written)));
    if console.json() {
        console.object(&json!({"out": out, "bytes": written}))?;
    }
    Ok(())
}

fn ids(prompt: Prompt, checkpoint: &Checkpoint) -> Result<Vec<u32>, Refusal> {
    match prompt {
        Prompt::Ids(ids) => Ok(ids),
        Prompt::Text(text) => Tokenizer::from_checkpoint(checkpoint)?.encode_prompt(&text, Specials::Plain),
    }
}
