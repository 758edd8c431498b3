//! The command tree.
//!
//! Every flag can also be given by an environment variable, which `environment` generates so that none can be forgotten.

mod environment;
mod usage;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands;
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::OutputFlags;

pub(crate) use usage::{refusal as usage_refusal, usage};

/// Run Qwen3-family and Llama-family language models locally.
#[derive(Debug, Parser)]
#[command(name = "tilewright", version, max_term_width = 110)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const AFTER_HELP: &str = "\
Every flag can be given by an environment variable as well: --prefill-chunk by TILEWRIGHT_PREFILL_CHUNK.
Exit codes: 0 done, 1 refused or failed, 2 usage, 130 stopped by Ctrl-C.";

/// Command lines to begin with, by command.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "run",
        &[
            "tilewright run -p 'Once upon a time'",
            "tilewright run -m DIR --chat -p 'Why is the sky blue?' --temp 0 -n 200",
            "tilewright run -m DIR --messages conversation.json --json",
            "tilewright run -f notes.txt --stop END --seed 7",
        ],
    ),
    (
        "chat",
        &[
            "tilewright chat -m DIR --system 'Answer in one sentence.'",
            "tilewright chat -m DIR --thinking off",
        ],
    ),
    (
        "serve",
        &[
            "tilewright serve -m DIR --weights int8",
            "tilewright serve -m DIR --host 0.0.0.0 --port 8000 --parallel 8",
        ],
    ),
    ("inspect", &["tilewright inspect -m DIR", "tilewright inspect -m DIR --weights int8 -c 8192 --json"]),
    ("perplexity", &["tilewright perplexity -m DIR -f text.txt --weights int4"]),
    (
        "convert",
        &[
            "tilewright convert -m DIR -o pair --dtype f32 -p 'The capital of France is'",
            "tilewright convert -m DIR --to gguf --quant q4_k_m -o model.gguf",
        ],
    ),
    #[cfg(feature = "pull")]
    (
        "pull",
        &["tilewright pull Qwen/Qwen3-0.6B", "tilewright pull Qwen/Qwen3-0.6B-GGUF:Qwen3-0.6B-Q8_0.gguf"],
    ),
    (
        "selftest",
        &[
            "tilewright selftest",
            "tilewright selftest --device cuda",
            "tilewright selftest --device shim --only decode_norm --json",
        ],
    ),
    (
        "bench",
        &[
            "tilewright bench -m DIR --weights int8 --compare llama.cpp=VENV/bin/python",
            "tilewright bench -p 512,2048 -n 128 -d 0,1024 --save report.json",
            "tilewright bench end-to-end -m DIR --weights f32",
            "tilewright bench audit reports",
        ],
    ),
    (
        "runtime",
        &[
            "tilewright runtime functions metaldispatch.contract",
            "tilewright runtime execute metaldispatch.contract metaldispatch_dispatch_budget --args-json 28",
        ],
    ),
    ("completions", &["tilewright completions bash"]),
];

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(commands::run::RunArgs),
    Chat(commands::chat::ChatArgs),
    Serve(commands::serve::ServeArgs),
    Inspect(commands::inspect::InspectArgs),
    Doctor(commands::doctor::DoctorArgs),
    Bench(Box<commands::bench::BenchArgs>),
    #[cfg(any(feature = "cuda", feature = "metal"))]
    Selftest(commands::selftest::SelftestArgs),
    Perplexity(commands::perplexity::PerplexityArgs),
    Convert(commands::convert::ConvertArgs),
    #[cfg(feature = "pull")]
    Pull(commands::pull::PullArgs),
    Kernels(commands::kernels::KernelsArgs),
    Runtime(commands::runtime::RuntimeArgs),
    Completions(commands::completions::CompletionsArgs),
}

impl Command {
    /// How the command speaks.
    pub(crate) fn output(&self) -> OutputFlags {
        match self {
            Self::Run(args) => args.output,
            Self::Chat(args) => args.output,
            Self::Serve(args) => args.output,
            Self::Inspect(args) => args.output,
            Self::Doctor(args) => args.output,
            Self::Bench(args) => args.output(),
            #[cfg(any(feature = "cuda", feature = "metal"))]
            Self::Selftest(args) => args.output,
            Self::Perplexity(args) => args.output,
            Self::Convert(args) => args.output,
            #[cfg(feature = "pull")]
            Self::Pull(args) => args.output,
            Self::Kernels(args) => args.output(),
            Self::Runtime(args) => args.output(),
            Self::Completions(_) => OutputFlags::default(),
        }
    }

    /// Carries the command out.
    pub(crate) fn run(self, console: &mut Console) -> Result<(), Failure> {
        match self {
            Self::Run(args) => commands::run::run(args, console),
            Self::Chat(args) => commands::chat::run(args, console),
            Self::Serve(args) => commands::serve::run(args, console),
            Self::Inspect(args) => commands::inspect::run(args, console),
            Self::Doctor(args) => commands::doctor::run(args, console),
            Self::Bench(args) => commands::bench::run(*args, console),
            #[cfg(any(feature = "cuda", feature = "metal"))]
            Self::Selftest(args) => commands::selftest::run(args, console),
            Self::Perplexity(args) => commands::perplexity::run(args, console),
            Self::Convert(args) => commands::convert::run(args, console),
            #[cfg(feature = "pull")]
            Self::Pull(args) => commands::pull::run(args, console),
            Self::Kernels(args) => commands::kernels::run(args, console),
            Self::Runtime(args) => commands::runtime::run(args, console),
            Self::Completions(args) => commands::completions::run(args, console),
        }
    }
}

/// The whole command tree, environment variables included.
pub(crate) fn command() -> clap::Command {
    with_environment(Cli::command(), "")
}

/// Reads the command line and the environment.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    let words: Vec<_> = std::env::args_os().collect();
    let mut command = environment::outranked(command(), &words);
    let mut matches = command.try_get_matches_from_mut(words)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Says which variables nothing reads: a name that is misspelt would else be no flag without a word.
pub(crate) fn warn_of_unread_variables(console: &Console) {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let ours: Vec<String> = names.filter(|name| name.starts_with("TILEWRIGHT_")).collect();
    if ours.is_empty() {
        return;
    }
    for (name, near) in environment::unread(&command(), ours) {
        let hint = near.map(|near| format!("; {near} is one")).unwrap_or_default();
        console.notice("warning", &format!("{name} is the variable of no flag{hint}"));
    }
}

/// Whether a command line that does not parse asks for JSON all the same.
pub(crate) fn asks_for_json() -> bool {
    std::env::args_os().any(|word| word == "--json") || environment::is_on("json")
}

/// Gives every flag of every command its environment variable, and every help its examples. `path` is the command's name
/// below the program's.
fn with_environment(command: clap::Command, path: &str) -> clap::Command {
    let help = match examples(path) {
        [] => AFTER_HELP.to_owned(),
        examples => format!("Examples:\n  {}\n\n{AFTER_HELP}", examples.join("\n  ")),
    };
    let below = |inner: clap::Command| {
        let path = format!("{path} {}", inner.get_name());
        with_environment(inner, path.trim())
    };
    command.mut_args(environment::with_variable).mut_subcommands(below).after_help(help)
}

/// The examples of a command, by its full name.
pub(crate) fn examples(command: &str) -> &'static [&'static str] {
    EXAMPLES.iter().find(|(name, _)| *name == command).map_or(&[], |(_, examples)| examples)
}

#[cfg(test)]
mod tests;
