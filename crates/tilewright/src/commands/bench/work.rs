//! The benchmarks of a model: which lengths each runs.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use sha2::{Digest, Sha256};
use tilewright_gate::bench::Phases;
use tilewright_gate::programs::{DOCUMENT, Document, TUNING, distinct};
use tilewright_model::{Refusal, Specials, Tokenizer};

use super::flags::RunFlags;
use super::run::Job;
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::read_text;

fn numbers(numbers: &[NonZeroUsize]) -> Vec<usize> {
    numbers.iter().map(|number| number.get()).collect()
}

/// Prompts and runs of single tokens.
#[derive(Args, Debug)]
pub(super) struct UsualArgs {
    /// Tokens of a prompt, several separated by commas; 0 for none
    #[arg(
        short = 'p',
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "512",
        help_heading = "Lengths"
    )]
    n_prompt: Vec<usize>,

    /// Single tokens one after another, several counts separated by commas; 0 for none
    #[arg(
        short = 'n',
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "128",
        help_heading = "Lengths"
    )]
    n_gen: Vec<usize>,

    /// Tokens taken in before the clock starts, several separated by commas
    #[arg(
        short = 'd',
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "0",
        help_heading = "Lengths"
    )]
    n_depth: Vec<usize>,
}

impl UsualArgs {
    pub(super) fn run(self, flags: RunFlags, console: &mut Console) -> Result<(), Failure> {
        let job = Job::new("bench", flags, 5)?;
        job.run(console, &mut |common| {
            Ok(Phases { first: common.usual(&self.n_prompt, &self.n_gen, &self.n_depth), second: None })
        })
    }
}

/// Time a prompt and the tokens after it, together and each
///
/// Every pair of a prompt length and an output length, as in 8/16. The first token belongs to the prompt; the others
/// take a step each.
#[derive(Args, Debug)]
pub(super) struct EndToEndArgs {
    /// Tokens of the prompts
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "8,32", help_heading = "Lengths")]
    prompt_lengths: Vec<NonZeroUsize>,

    /// Tokens written after each, the first included
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "8,16", help_heading = "Lengths")]
    output_lengths: Vec<NonZeroUsize>,

    #[command(flatten)]
    pub(super) run: RunFlags,
}

impl EndToEndArgs {
    pub(super) fn run(self, console: &mut Console) -> Result<(), Failure> {
        let job = Job::new("bench end-to-end", self.run, 5)?;
        job.run(console, &mut |common| {
            let [prompts, outputs] =
                [&self.prompt_lengths, &self.output_lengths].map(|lengths| numbers(lengths));
            Ok(Phases { first: common.end_to_end(&prompts, &outputs), second: None })
        })
    }
}

/// Time one forward of one token at a fixed position
///
/// The latency of a forward from token to logits and the greatest of them: neither a rate of writing nor the time of a
/// prompt.
#[derive(Args, Debug)]
pub(super) struct FixedContextArgs {
    /// Tokens before the one that is timed
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "0,16,64",
        help_heading = "Lengths"
    )]
    contexts: Vec<usize>,

    #[command(flatten)]
    pub(super) run: RunFlags,
}

impl FixedContextArgs {
    pub(super) fn run(self, console: &mut Console) -> Result<(), Failure> {
        let mut job = Job::new("bench fixed-context", self.run, 9)?;
        job.remark(
            "The latency of one forward: no rate of writing, no time of a prompt, no latency of a chat.",
        );
        job.run(console, &mut |common| {
            Ok(Phases { first: common.fixed_context(&self.contexts), second: None })
        })
    }
}

/// Time a document of 4,096 tokens and 1,024 tokens after it
///
/// The prefill chunk is chosen among 128, 256, 512 and 1,024 rows on another document, of 2,048 tokens and 8 after it.
#[derive(Args, Debug)]
pub(super) struct LongDocumentArgs {
    /// Text of the document, UTF-8 [default: ids that stand for no text]
    #[arg(long, value_name = "FILE", requires = "tuning_document", help_heading = "Documents")]
    document: Option<PathBuf>,

    /// Text of the document that the chunk is chosen on
    #[arg(long, value_name = "FILE", requires = "document", help_heading = "Documents")]
    tuning_document: Option<PathBuf>,

    #[command(flatten)]
    pub(super) run: RunFlags,
}

impl LongDocumentArgs {
    pub(super) fn run(self, console: &mut Console) -> Result<(), Failure> {
        let mut job = Job::new("bench long-document", self.run, 5)?;
        job.remark("The document was not used to choose the chunk; it may have been used while the engine was written.");
        job.remark("A whole backend is compared with another, not one of its parts.");
        let (tuning, document) = {
            let vocab = job.checkpoint.config().vocab;
            let read = |path: &Option<PathBuf>, sequence, count| match path {
                None => Ok(Document::synthetic(vocab, sequence, count)),
                Some(path) => text(&Tokenizer::from_checkpoint(&job.checkpoint)?, path, count),
            };
            (read(&self.tuning_document, 1, TUNING[0])?, read(&self.document, 0, DOCUMENT[0])?)
        };
        distinct(&tuning, &document)?;
        job.run(console, &mut |common| {
            let document = document.clone();
            Ok(Phases {
                first: common.tuning(&tuning),
                second: Some(Box::new(move |chunk| vec![common.document(document, chunk)])),
            })
        })
    }
}

/// The beginning of a text, named by its file and its hash.
fn text(tokenizer: &Tokenizer, path: &Path, count: usize) -> Result<Document, Refusal> {
    let text = read_text(path)?;
    let hash: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Document::of(format!("{name}, SHA-256 {hash}"), tokenizer.encode_prompt(&text, Specials::Plain)?, count)
}

/// Time steps of several sequences at once
///
/// The weights are read once for all of them. Four prompts by turns; every sequence is compared with the reference.
#[derive(Args, Debug)]
pub(super) struct BatchArgs {
    /// Numbers of sequences
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        default_value = "1,2,4,8,16,32",
        help_heading = "Lengths"
    )]
    sizes: Vec<NonZeroUsize>,

    /// Tokens that each sequence begins with
    #[arg(long, value_name = "N", default_value = "16", help_heading = "Lengths")]
    begin: NonZeroUsize,

    /// Steps
    #[arg(long, value_name = "N", default_value = "16", help_heading = "Lengths")]
    steps: NonZeroUsize,

    #[command(flatten)]
    pub(super) run: RunFlags,
}

impl BatchArgs {
    pub(super) fn run(self, console: &mut Console) -> Result<(), Failure> {
        let job = Job::new("bench batch", self.run, 5)?;
        job.run(console, &mut |common| {
            let first = common.batch(&numbers(&self.sizes), self.begin.get(), self.steps.get());
            Ok(Phases { first, second: None })
        })
    }
}
