//! `selftest`: every kernel of the catalogue on a device, compared with the interpreter, then a story on that device.
//!
//! What it prints is meant to be sent: it says on what it ran and everything that came out.

mod suite;

use std::env;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::{Value, json};
use tilewright_engine::{
    DeviceRequest, Engine, OpenOptions, Request, Sampling, Source, WeightFormat, user_cache_folder,
};
use tilewright_kernels::shape::Sample;
use tilewright_model::{HAS_EMBEDDED_MODEL, Refusal};
use tilewright_tile::testing::conformance;

use crate::commands::kernels::sample;
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::OutputFlags;

/// Run every kernel on a GPU (or on the shim) and compare it with what it means
///
/// Compiles each kernel of the catalogue for the device, runs it on noise, compares what it leaves with the reference
/// interpreter, and lets the model inside the program write a few tokens. Prints a report to send; exits with 1 when
/// anything differs. The processor is checked by `doctor`.
#[derive(Args, Debug)]
pub(crate) struct SelftestArgs {
    /// Device: auto, cpu, cuda, cuda:N, metal or (for developers) shim. No other device is used in its place
    #[arg(long, value_name = "DEVICE", default_value_t = DeviceRequest::Metal)]
    device: DeviceRequest,

    /// Shape of model to build for
    #[arg(long, value_name = "NAME", default_value = "qwen3-tiny", value_parser = sample)]
    shape: &'static Sample,

    /// Only kernels whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,

    /// Folder where the shim keeps compiled texts [default: the user's cache folder]
    #[arg(long, value_name = "DIR")]
    texts: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputFlags,
}

/// Carries `selftest` out.
pub(crate) fn run(args: SelftestArgs, console: &mut Console) -> Result<(), Failure> {
    let folder = args.texts.clone().or_else(user_cache_folder).map(|folder| folder.join("shim"));
    let (sample, start) = (args.shape, Instant::now());
    let suite = suite::open(args.device, folder.as_deref())?;
    let mut report = Report::new(suite.facts(), sample);
    suite.each(&sample.shape, &args.only, &mut |name, outcome| {
        console.notice("kernel", name);
        report.add(name, outcome);
    });
    report.seconds = start.elapsed().as_secs_f64();
    if HAS_EMBEDDED_MODEL && args.only.is_empty() {
        report.story = suite.stories().map(|weights| (weights, story(&args, weights))).into();
    }
    match console.json() {
        true => console.object(&report.json())?,
        false => console.text(&report.page())?,
    }
    if report.passed() { Ok(()) } else { Err(Failure::Negative) }
}

/// Tokens of a story.
const TOKENS: usize = 16;

/// The story's beginning on the device, and on the processor in f32.
fn story(args: &SelftestArgs, weights: WeightFormat) -> Result<Story, Refusal> {
    let cache = args.texts.clone().map_or_else(Default::default, tilewright_engine::Cache::Folder);
    let device = OpenOptions {
        device: args.device,
        weights: Some(weights),
        context: Some(512),
        cache,
        ..OpenOptions::default()
    };
    let cpu = OpenOptions { device: DeviceRequest::Cpu, weights: Some(weights), ..OpenOptions::default() };
    let [got, expected] = [device, cpu].map(|options| written(&options));
    let (got, expected) = (got?, expected?);
    let same = got.iter().zip(&expected).take_while(|(a, b)| a == b).count();
    Ok(Story { same, text: got })
}

fn written(options: &OpenOptions) -> Result<Vec<u32>, Refusal> {
    let engine = Engine::open(Source::Embedded, options, &mut |_| {})?;
    let request = Request {
        max_tokens: Some(TOKENS),
        sampling: Sampling { temperature: Some(0.0), ..Sampling::default() },
        ..Request::new(engine.encode("Once upon a time")?)
    };
    Ok(engine.generate(request)?.reply()?.ids)
}

/// Ids written on the device.
struct Story {
    /// How many of them the processor writes as well, from the first.
    same: usize,
    text: Vec<u32>,
}

/// What came of one kernel.
type Outcome = conformance::Outcome<Refusal>;

/// Everything found.
struct Report {
    device: Value,
    shape: &'static str,
    exact: usize,
    near: Vec<(String, String)>,
    failed: Vec<(String, String)>,
    skipped: Vec<(String, String)>,
    seconds: f64,
    story: Vec<(WeightFormat, Result<Story, Refusal>)>,
}

impl Report {
    fn new(device: Value, sample: &'static Sample) -> Self {
        let (near, failed, skipped) = (Vec::new(), Vec::new(), Vec::new());
        Self { device, shape: sample.name, exact: 0, near, failed, skipped, seconds: 0.0, story: Vec::new() }
    }

    fn add(&mut self, name: &str, outcome: Outcome) {
        let name = name.to_owned();
        match outcome {
            Outcome::Exact => self.exact += 1,
            Outcome::Near(first) => self.near.push((name, first)),
            Outcome::Different(first) | Outcome::Rejected(first) => self.failed.push((name, first)),
            Outcome::Refused(refusal) => self.failed.push((name, refusal.to_string())),
            Outcome::Skipped(why) => self.skipped.push((name, why)),
        }
    }

    /// Whether nothing differs. A story in another format than f32 may part from the processor's, which rounds otherwise, but
    /// not at its first token.
    fn passed(&self) -> bool {
        let told = |(weights, story): &(WeightFormat, Result<Story, Refusal>)| {
            let least = if *weights == WeightFormat::F32 { TOKENS } else { 1 };
            story.as_ref().is_ok_and(|story| story.same >= least)
        };
        self.failed.is_empty() && self.exact + self.near.len() > 0 && self.story.iter().all(told)
    }

    fn json(&self) -> Value {
        let list = |pairs: &[(String, String)]| -> Value {
            pairs.iter().map(|(name, first)| json!({"kernel": name, "first": first})).collect()
        };
        let story = |(weights, story): &(WeightFormat, Result<Story, Refusal>)| match story {
            Ok(story) => json!({"weights": weights.name(), "ids": story.text, "same": story.same}),
            Err(refusal) => json!({"weights": weights.name(), "refusal": refusal}),
        };
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "os": env::consts::OS,
            "architecture": env::consts::ARCH,
            "device": self.device,
            "shape": self.shape,
            "exact": self.exact,
            "near": list(&self.near),
            "failed": list(&self.failed),
            "skipped": list(&self.skipped),
            "seconds": self.seconds,
            "stories": self.story.iter().map(story).collect::<Value>(),
            "passed": self.passed(),
        })
    }

    fn page(&self) -> String {
        let mut lines = vec![
            format!("version    {} ({} {})", env!("CARGO_PKG_VERSION"), env::consts::OS, env::consts::ARCH),
            format!("device     {}", self.device),
            format!(
                "kernels    {} at {}: {} exact, {} near, {} failed, {} skipped, in {:.1} s",
                self.exact + self.near.len() + self.failed.len() + self.skipped.len(),
                self.shape,
                self.exact,
                self.near.len(),
                self.failed.len(),
                self.skipped.len(),
                self.seconds
            ),
        ];
        lines.extend(self.near.iter().map(|(name, first)| format!("near       {name}: {first}")));
        lines.extend(self.skipped.iter().map(|(name, why)| format!("skipped    {name}: {why}")));
        lines.extend(self.failed.iter().map(|(name, first)| format!("FAILED     {name}: {first}")));
        for (weights, story) in &self.story {
            lines.push(match story {
                Ok(story) => {
                    format!("story      {weights}: {} of {TOKENS} tokens are the processor's", story.same)
                }
                Err(refusal) => format!("story      {weights}: FAILED, {refusal}"),
            });
        }
        lines.push(if self.passed() { "PASSED" } else { "FAILED" }.to_owned());
        lines.join("\n") + "\n"
    }
}
