//! `kernels`: the kernels of the GPU devices, as text and as the verifier sees them. No device is touched.

mod found;
mod pages;

use clap::{Args, Subcommand};
use serde_json::json;
use tilewright_kernels::catalogue;
use tilewright_kernels::shape::{SAMPLES, Sample};
use tilewright_tile::verify;

use self::found::Found;
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::OutputFlags;

/// Show the kernels of the GPU devices: list them, print one, verify them, explain why one is accepted
#[derive(Args, Debug)]
pub(crate) struct KernelsArgs {
    #[command(subcommand)]
    command: KernelsCommand,
}

#[derive(Debug, Subcommand)]
enum KernelsCommand {
    /// List every kernel with its variants, and every pipeline with its dispatches
    List(ListArgs),
    /// Print a kernel as IR, Metal Shading Language or CUDA C++, or a report of what it uses; or a pipeline's launches
    Show(ShowArgs),
    /// Verify kernels and pipelines, all of them where none is named
    ///
    /// Exits with 1 when one is rejected.
    Verify(VerifyArgs),
    /// Say why the verifier accepts a kernel: where each coordinate can be, who reaches each barrier
    Explain(ExplainArgs),
}

/// The shape of model that a kernel is built for.
#[derive(Args, Clone, Copy, Debug)]
struct ShapeFlag {
    /// Shape of model to build for
    #[arg(long, value_name = "NAME", default_value = "qwen3-0.6b", value_parser = sample)]
    shape: &'static Sample,
}

/// The shape of a name.
pub(crate) fn sample(name: &str) -> Result<&'static Sample, String> {
    let names = || SAMPLES.iter().map(|sample| sample.name).collect::<Vec<_>>().join(", ");
    SAMPLES.iter().find(|sample| sample.name == name).ok_or_else(|| format!("the shapes are {}", names()))
}

#[derive(Args, Debug)]
struct ListArgs {
    #[command(flatten)]
    shape: ShapeFlag,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(Args, Debug)]
struct ShowArgs {
    /// Name of the kernel or pipeline
    name: String,
    #[command(flatten)]
    form: FormFlags,
    #[command(flatten)]
    shape: ShapeFlag,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(Args, Debug)]
#[group(multiple = false)]
struct FormFlags {
    /// Print the program that is verified and interpreted, which is the default
    #[arg(long)]
    ir: bool,
    /// Print Metal Shading Language
    #[arg(long)]
    msl: bool,
    /// Print CUDA C++
    #[arg(long)]
    cuda: bool,
    /// Print what it uses: memory, barriers, explicit fast operations, loops without a guard
    #[arg(long)]
    report: bool,
}

/// What `show` prints of a kernel.
#[derive(Clone, Copy, Debug)]
enum Form {
    Ir,
    Msl,
    Cuda,
    Report,
}

impl FormFlags {
    const fn resolve(&self) -> Form {
        match (self.msl, self.cuda, self.report) {
            (true, _, _) => Form::Msl,
            (_, true, _) => Form::Cuda,
            (_, _, true) => Form::Report,
            _ => Form::Ir,
        }
    }
}

#[derive(Args, Debug)]
struct VerifyArgs {
    /// Names of kernels or pipelines
    names: Vec<String>,
    #[command(flatten)]
    shape: ShapeFlag,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(Args, Debug)]
struct ExplainArgs {
    /// Name of the kernel
    name: String,
    #[command(flatten)]
    shape: ShapeFlag,
    #[command(flatten)]
    output: OutputFlags,
}

impl KernelsArgs {
    /// How the command speaks.
    pub(crate) fn output(&self) -> OutputFlags {
        match &self.command {
            KernelsCommand::List(args) => args.output,
            KernelsCommand::Show(args) => args.output,
            KernelsCommand::Verify(args) => args.output,
            KernelsCommand::Explain(args) => args.output,
        }
    }
}

/// Carries `kernels` out.
pub(crate) fn run(args: KernelsArgs, console: &mut Console) -> Result<(), Failure> {
    match args.command {
        KernelsCommand::List(args) => list(&args, console),
        KernelsCommand::Show(args) => show(&args, console),
        KernelsCommand::Verify(args) => check(&args, console),
        KernelsCommand::Explain(args) => explain(&args, console),
    }
}

fn list(args: &ListArgs, console: &mut Console) -> Result<(), Failure> {
    let shape = &args.shape.shape.shape;
    if console.json() {
        return console.object(&pages::list_json(shape));
    }
    console.text(&pages::list(shape))
}

fn show(args: &ShowArgs, console: &mut Console) -> Result<(), Failure> {
    let (sample, form) = (args.shape.shape, args.form.resolve());
    let text = match found::find(&args.name, sample)? {
        Found::Kernel(kernel) => match form {
            Form::Ir => tilewright_tile::ir::print(&kernel),
            Form::Msl => tilewright_tile::emit::msl(&found::accepted(*kernel)?),
            Form::Cuda => tilewright_tile::emit::cuda(&found::accepted(*kernel)?),
            Form::Report => tilewright_tile::Report::new(&found::accepted(*kernel)?).to_string(),
        },
        Found::Pipeline(pipeline) => pages::pipeline(&pipeline),
    };
    if console.json() {
        return console.object(&json!({"name": args.name, "shape": sample.name, "text": text}));
    }
    console.text(&text)
}

fn check(args: &VerifyArgs, console: &mut Console) -> Result<(), Failure> {
    let sample = args.shape.shape;
    let names = match args.names.as_slice() {
        [] => {
            let kernels = catalogue::entries().filter(|entry| (entry.fits)(&sample.shape));
            let kernels = kernels.flat_map(|entry| entry.variants.iter().map(move |v| entry.full_name(v)));
            let pipelines = catalogue::pipelines().filter(|entry| (entry.fits)(&sample.shape));
            kernels.chain(pipelines.map(|entry| entry.name.to_owned())).collect()
        }
        names => names.to_vec(),
    };
    let mut verdicts = Vec::new();
    for name in names {
        let verdict = found::find(&name, sample)?.verdict();
        if !console.json() {
            match &verdict {
                Ok(said) => console.line(&format!("accepted  {name}: {said}"))?,
                Err(why) => console.line(&format!("rejected  {name}: {why}"))?,
            }
        }
        verdicts.push((name, verdict));
    }
    let rejected = verdicts.iter().filter(|(_, verdict)| verdict.is_err()).count();
    if console.json() {
        let object = |(name, verdict): &(String, Result<String, String>)| json!({"name": name, "accepted": verdict.is_ok(), "why": verdict.as_ref().err()});
        let list: Vec<_> = verdicts.iter().map(object).collect();
        console.object(&json!({"shape": sample.name, "kernels": list, "rejected": rejected}))?;
    }
    if rejected == 0 { Ok(()) } else { Err(Failure::Negative) }
}

fn explain(args: &ExplainArgs, console: &mut Console) -> Result<(), Failure> {
    let sample = args.shape.shape;
    let text = match found::find(&args.name, sample)? {
        Found::Kernel(kernel) => verify::explain(&found::accepted(*kernel)?),
        Found::Pipeline(pipeline) => pages::hazards(&pipeline),
    };
    if console.json() {
        return console.object(&json!({"name": args.name, "shape": sample.name, "text": text}));
    }
    console.text(&text)
}
