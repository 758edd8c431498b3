//! `run`: one prompt, one reply; with `--batch` many.

mod batch;

use clap::Args;
use serde_json::Value;
use tilewright_engine::{Cancel, Request, Sampling};

use crate::commands::session::Session;
use crate::commands::{describe, prompting, reply};
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::{
    Limits, ModelChoice, ModelFlags, OutputFlags, Prompt, PromptFlags, SamplingFlags, StoppingFlags,
    TemplateChoice, TemplateFlags,
};
use crate::interrupt::Interrupt;

use batch::Batch;

/// Generate text from one prompt
///
/// The text is written to standard output as it is generated. -p and -f are continued as they are; --chat, --system,
/// --messages and the other template flags put them through the model's chat template.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    prompt: PromptFlags,
    #[command(flatten)]
    template: TemplateFlags,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    sampling: SamplingFlags,
    #[command(flatten)]
    stopping: StoppingFlags,

    /// Report the log-probability of each token and of the N most likely ones (0 to 20); needs --json
    #[arg(long, value_name = "N", requires = "json", help_heading = "Output")]
    logprobs: Option<u8>,

    /// Replies that are made at once, 1 to 32
    #[arg(long, value_name = "N", requires = "batch", default_value_t = 16, help_heading = "Scheduling",
        conflicts_with_all = ["prompt", "file", "ids", "messages"])]
    parallel: usize,

    #[command(flatten)]
    pub output: OutputFlags,
}

/// What the arguments mean.
struct Job {
    prompt: Prompt,
    template: TemplateChoice,
    model: ModelChoice,
    sampling: Sampling,
    limits: Limits,
    logprobs: Option<u8>,
}

impl RunArgs {
    fn resolve(self) -> Result<Job, Failure> {
        let prompt = self.prompt.resolve(&self.template)?;
        Ok(Job {
            prompt,
            template: self.template.resolve()?,
            model: self.model.resolve(),
            sampling: self.sampling.resolve(),
            limits: self.stopping.resolve(),
            logprobs: self.logprobs,
        })
    }
}

/// Carries `run` out.
pub(crate) fn run(args: RunArgs, console: &mut Console) -> Result<(), Failure> {
    let interrupt = Interrupt::install();
    if let (Some(input), Some(output)) = (args.prompt.batch.clone(), args.prompt.replies.clone()) {
        let frame = args.prompt.frame(&args.template);
        let batch = Batch {
            input,
            output,
            frame,
            parallel: args.parallel,
            template: args.template.resolve()?,
            model: args.model.resolve(),
            sampling: args.sampling.resolve(),
            limits: args.stopping.resolve(),
            logprobs: args.logprobs,
        };
        return batch.run(&interrupt, console);
    }
    let job = args.resolve()?;
    let reasoning = job.template.reasoning;
    let cancel = Cancel::default();
    let request =
        Request { logprobs: job.logprobs, ..job.limits.request(Vec::new(), job.sampling, cancel.clone()) };
    request.check()?;
    let reads = !matches!(job.prompt, Prompt::Ids(_));
    let session = Session::open(job.model.reading(reads), console)?;
    let prompt = prompting::render(job.prompt, job.template, &session, console)?;

    let request = Request { prompt: prompt.ids, continuation: prompt.continuation, ..request };
    let generation = session.engine.generate(request)?;
    let sampling = generation.sampling().clone();
    console.notice("sampling", &describe::sampling(&sampling));
    prompting::warn_of_loops(prompt.reasons, &sampling, console);

    let guard = interrupt.guard(cancel);
    let reply = reply::stream(generation, (prompt.splitter, reasoning), &session, console)?;
    drop(guard);

    reply.end(console)?;
    reply.report(console, job.limits.max_tokens);
    if console.json() {
        let mut object = reply.json(session.engine.tokenizer());
        object.extend(session.json());
        object.insert("sampling".into(), describe::sampling_json(&sampling));
        console.object(&Value::Object(object))?;
    }
    if reply.cancelled() { Err(Failure::Interrupted) } else { Ok(()) }
}
