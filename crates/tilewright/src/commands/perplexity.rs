//! `perplexity`: how well a model predicts a text.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use serde_json::Value;
use tilewright_engine::{Cancel, Code, ScoreOptions};

use crate::commands::session::Session;
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::{ModelChoice, ModelFlags, OutputFlags, read_text};
use crate::interrupt::Interrupt;

/// Score a text: mean negative log-likelihood of a token, and perplexity
///
/// The text is scored in windows that do not overlap unless --stride is smaller than --window. The first token of
/// the text is not scored.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("source").required(true).args(["file", "ids"]))]
pub(crate) struct PerplexityArgs {
    /// File with the text to score; `-` reads standard input
    #[arg(short, long, value_name = "FILE", help_heading = "Text")]
    file: Option<PathBuf>,

    /// Token ids to score, separated by commas
    #[arg(long, value_name = "ID,…", value_delimiter = ',', conflicts_with = "raw", help_heading = "Text")]
    ids: Option<Vec<u32>>,

    /// Take control tokens spelled in the text as control tokens
    #[arg(long, help_heading = "Text")]
    raw: bool,

    /// Tokens of one window [default: the context]
    #[arg(long, value_name = "N", help_heading = "Text")]
    window: Option<usize>,

    /// Tokens from the start of a window to that of the next [default: the window]
    #[arg(long, value_name = "N", help_heading = "Text")]
    stride: Option<usize>,

    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    pub output: OutputFlags,
}

/// What is scored.
enum Text {
    Plain { text: String, raw: bool },
    Ids(Vec<u32>),
}

/// What the arguments mean.
struct Job {
    text: Text,
    model: ModelChoice,
    options: ScoreOptions,
}

impl PerplexityArgs {
    fn resolve(self) -> Result<Job, Failure> {
        let text = match (self.ids, self.file) {
            (Some(ids), _) => Text::Ids(ids),
            (None, Some(path)) => Text::Plain { text: read_text(&path)?, raw: self.raw },
            (None, None) => Text::Ids(Vec::new()),
        };
        let options = ScoreOptions { window: self.window, stride: self.stride, cancel: Cancel::default() };
        Ok(Job { text, model: self.model.resolve(), options })
    }
}

/// Carries `perplexity` out.
pub(crate) fn run(args: PerplexityArgs, console: &mut Console) -> Result<(), Failure> {
    let interrupt = Interrupt::install();
    let Job { text, model, options } = args.resolve()?;
    let reads = matches!(text, Text::Plain { .. });
    let session = Session::open(model.reading(reads), console)?;
    let ids = match text {
        Text::Plain { text, raw } => session.encode(&text, raw)?,
        Text::Ids(ids) => ids,
    };

    let guard = interrupt.guard(options.cancel.clone());
    let bar = console.bar("scoring");
    let score =
        session.engine.score(&ids, &options, &mut |done, total| bar.report(done as u64, total as u64));
    drop((guard, bar));
    let score = score.map_err(|refusal| match refusal.code() {
        Code::Cancelled => Failure::Interrupted,
        _ => refusal.into(),
    })?;

    let plan = session.engine.plan();
    if console.json() {
        let mut object = session.json();
        object.insert("tokens".into(), score.nll.len().into());
        object.insert("nll_per_token".into(), score.mean().into());
        object.insert("perplexity".into(), score.perplexity().into());
        return console.object(&Value::Object(object));
    }
    console.line(&format!(
        "{} tokens, nll {:.6} a token, perplexity {:.4}, weights {}, {} bytes a token",
        score.nll.len(),
        score.mean(),
        score.perplexity(),
        plan.weights,
        plan.bytes_per_token,
    ))
}
