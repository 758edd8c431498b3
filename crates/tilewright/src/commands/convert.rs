//! `convert`: a checkpoint to the pair `manifest.json` and `weights.blob`, to GGUF or to safetensors.

mod left_out;
mod mixture;
mod round;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;
use tilewright_engine::Source;
use tilewright_model::convert::{
    Arm, BlobType, ConvertOptions, Rounding, convert, discard_partial, write_gguf, write_rounded,
};
use tilewright_model::{
    Checkpoint, Code, Finding, Refusal, Specials, Tokenizer, are_parts_of_one, find_model,
};

use self::mixture::{Mixture, mixtures};
use crate::console::{Console, bytes};
use crate::exit::Failure;
use crate::flags::OutputFlags;
use crate::interrupt;

/// Convert a checkpoint to manifest.json and weights.blob, to GGUF or to safetensors
///
/// Nothing is rounded but by --quant, and memory stays within one tile of a tensor. docs/converted-checkpoint.md describes
/// the pair of files, docs/models.md what is read of the others.
#[derive(Args, Debug)]
pub(crate) struct ConvertArgs {
    /// Checkpoint directory, GGUF file, org/name or org/name:file in the cache of Hugging Face [default: the small story model inside the program]
    #[arg(short, long, value_name = "DIR")]
    model: Option<PathBuf>,

    /// Directory to write to, made if absent; or a file FILE.gguf, which is GGUF without --to as well
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,

    /// Form to write [default: by the ending of --out, else converted]
    #[arg(long, value_name = "FORM", value_enum)]
    to: Option<Form>,

    /// Types that the matrices are rounded to: blocks of GGUF; or, in the other forms, floats that are what --weights int8
    /// or int4 makes of them. To keep these to the bit, open them with --weights f32 or int4: int8 rounds scales anew
    /// [default: as stored]
    #[arg(long, value_name = "MIX", value_parser = mixtures())]
    quant: Option<Mixture>,

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
    quant: Option<Mixture>,
    overwrite: bool,
}

enum Prompt {
    Ids(Vec<u32>),
    Text(String),
}

impl ConvertArgs {
    /// What is written: what was asked for, else what the name of the output says.
    fn form(&self) -> Form {
        self.to.unwrap_or(if names_gguf(&self.out) { Form::Gguf } else { Form::Converted })
    }

    /// Refuses flags of another form than the one asked for.
    fn check(&self) -> Result<(), Refusal> {
        let pair = [
            ("--dtype", self.dtype.is_some()),
            ("--prompt", self.prompt.is_some()),
            ("--ids", self.ids.is_some()),
            ("--fixed", self.fixed),
        ];
        let form = self.form();
        let given = if form == Form::Converted { &[][..] } else { &pair[..] };
        let given = given.iter().filter(|(_, given)| *given);
        let mut findings: Vec<_> =
            given.map(|(flag, _)| Finding::new(*flag, "not with this form", "given")).collect();
        let fits = |mixture: &Mixture| matches!(mixture, Mixture::Blocks(_)) == (form == Form::Gguf);
        if let Some(mixture) = self.quant.filter(|mixture| !fits(mixture)) {
            let expected = Mixture::all().filter(fits).map(Mixture::name).collect::<Vec<_>>().join(", ");
            findings.push(Finding::new("--quant", format!("one of {expected} in this form"), mixture.name()));
        }
        if let Some(kind) = named_file(&self.out, form) {
            findings.push(Finding::new("--out", "a directory in this form", format!("the name of {kind}")));
        }
        Refusal::check(Code::RequestInvalid, findings)
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
            quant: self.quant,
            overwrite: self.overwrite,
        }
    }
}

/// Whether an output is one GGUF file by its ending.
fn names_gguf(out: &Path) -> bool {
    out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gguf"))
}

/// What kind of file an output is by its ending, where the form is a directory: one that would bear the file's name.
fn named_file(out: &Path, form: Form) -> Option<String> {
    const FILES: [&str; 12] =
        ["gguf", "safetensors", "bin", "blob", "json", "pt", "pth", "ckpt", "onnx", "npz", "ggml", "zip"];
    let ending = out.extension()?.to_str()?.to_ascii_lowercase();
    let one_file = form == Form::Gguf && ending == "gguf";
    // What is a directory already is one.
    (FILES.contains(&ending.as_str()) && !one_file && !out.is_dir()).then(|| format!("a file, .{ending}"))
}

/// Refuses to round a model in its own place: what rounding leaves out would be nowhere any more.
fn check_source_is_kept(job: &Job, form: Form) -> Result<(), Refusal> {
    let (Some(_), Source::Path(source)) = (job.quant, &job.source) else { return Ok(()) };
    // An empty path is the folder one is in.
    let place =
        |path: &Path| if path.as_os_str().is_empty() { Path::new(".") } else { path }.canonicalize().ok();
    let within = |out: &Path| place(source).is_some_and(|source| place(out) == Some(source));
    let out = output(job, form);
    let own = match form {
        Form::Gguf => {
            let beside = out.parent().is_some_and(&within);
            // A directory whose weights are the file that would be replaced.
            let is_source =
                beside && !["config.json", "manifest.json"].iter().any(|name| source.join(name).exists());
            out.exists() && (within(&out) || is_source || is_part_of(source, &out))
        }
        Form::Safetensors | Form::Converted => within(&out),
    };
    if !own {
        return Ok(());
    }
    let expected = "another place than the model's, which --quant rounds";
    let refusal = Refusal::new(Code::RequestInvalid, "--out", expected, "the model itself");
    Err(refusal.at(out.display()).with_remedy("Choose another --out, and keep the model that is rounded."))
}

/// Whether a file is another part of a split source.
fn is_part_of(source: &Path, out: &Path) -> bool {
    let folder = |path: &Path| path.canonicalize().ok().and_then(|path| Some(path.parent()?.to_owned()));
    let name = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
    folder(source).is_some_and(|there| folder(out) == Some(there))
        && name(source).zip(name(out)).is_some_and(|(a, b)| are_parts_of_one(&a, &b))
}

/// The file or the directory that is written.
fn output(job: &Job, form: Form) -> PathBuf {
    match form {
        Form::Gguf if !names_gguf(&job.out) => job.out.join("model.gguf"),
        _ => job.out.clone(),
    }
}

/// Carries `convert` out.
pub(crate) fn run(args: ConvertArgs, console: &mut Console) -> Result<(), Failure> {
    args.check()?;
    let form = args.form();
    let job = args.resolve();
    check_source_is_kept(&job, form)?;
    let checkpoint = match &job.source {
        Source::Embedded => Checkpoint::embedded()?,
        Source::Path(path) => Checkpoint::open(path)?,
    };
    if form != Form::Converted {
        return other_form(&checkpoint, form, &job, console);
    }
    let ids = ids(job.prompt, &checkpoint)?;
    let round = round::by(job.quant);
    let rounding = round.as_deref().map(Rounding);
    let Job { dtype, arm, overwrite, .. } = job;
    let options = ConvertOptions { dtype, arm, rounding, input_ids: &ids, overwrite };
    interrupt::leaving(discarding(&job.out));
    let bar = console.bar("converting");
    let mut written = 0;
    convert(&checkpoint, &job.out, &options, &mut |done, total| {
        written = done;
        bar.report(done, total);
    })?;
    drop(bar);

    let out = job.out.display().to_string();
    let prompt = if ids.is_empty() { String::new() } else { format!(", prompt of {} tokens", ids.len()) };
    console.notice("done", &format!("{} in {out}{prompt}", bytes(written)));
    let left_out = tell_left_out(&checkpoint, form, console);
    if console.json() {
        let dtype = job.dtype.stored().to_string();
        console.object(&json!({
            "out": out, "dtype": dtype, "bytes": written, "prompt_tokens": ids.len(), "left_out": left_out,
        }))?;
    }
    Ok(())
}

/// GGUF or safetensors.
fn other_form(checkpoint: &Checkpoint, form: Form, job: &Job, console: &mut Console) -> Result<(), Failure> {
    let out = output(job, form);
    let folder =
        if form == Form::Gguf { out.parent().map_or(out.clone(), Path::to_owned) } else { out.clone() };
    interrupt::leaving(discarding(&folder));
    let bar = console.bar("converting");
    let mut written = 0;
    let mut progress = |done, total| {
        written = done;
        bar.report(done, total);
    };
    match form {
        Form::Gguf => {
            let blocks = job.quant.and_then(Mixture::blocks);
            write_gguf(checkpoint, &out, blocks, job.overwrite, &mut progress)?;
        }
        Form::Safetensors | Form::Converted => {
            let round = round::by(job.quant);
            let rounding = round.as_deref().map(Rounding);
            write_rounded(checkpoint, &out, rounding, job.overwrite, &mut progress)?;
        }
    }
    drop(bar);
    let out = out.display().to_string();
    console.notice("done", &format!("{} in {out}", bytes(written)));
    let left_out = tell_left_out(checkpoint, form, console);
    if console.json() {
        console.object(&json!({"out": out, "bytes": written, "left_out": left_out}))?;
    }
    Ok(())
}

/// Says how the model was to be sampled, where the form does not.
fn tell_left_out(checkpoint: &Checkpoint, form: Form, console: &Console) -> Option<String> {
    let flags = left_out::sampling(checkpoint.generation_config()).filter(|_| form != Form::Safetensors)?;
    console.notice("left out", &format!("generation_config.json; {flags} samples as it says"));
    Some(flags)
}

/// What is done before Ctrl-C ends the process: a partial file is nobody's.
fn discarding(folder: &Path) -> impl Fn() + Send + 'static {
    // An empty path is the folder one is in.
    let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() };
    move || discard_partial(&folder)
}

fn ids(prompt: Prompt, checkpoint: &Checkpoint) -> Result<Vec<u32>, Refusal> {
    match prompt {
        Prompt::Ids(ids) => Ok(ids),
        Prompt::Text(text) => Tokenizer::from_checkpoint(checkpoint)?.encode_prompt(&text, Specials::Plain),
    }
}
