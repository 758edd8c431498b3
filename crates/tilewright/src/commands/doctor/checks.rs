//! What is really done, and what came of it.

use std::borrow::Cow;

use serde_json::{Value, json};
use tilewright_cpu::simd::Isa;
use tilewright_engine::{DeviceRequest, Engine, OpenOptions, Request, Sampling, Source, WeightFormat};
use tilewright_model::{HAS_EMBEDDED_MODEL, Refusal};

use super::kernel::{self, SHAPE};
use super::machine::Machine;

/// Bytes below which even the embedded model is in danger.
const LEAST_MEMORY: u64 = 128 << 20;

/// "Once upon a time" for the embedded model, and the token that follows in float64, ahead of the next by 2.1.
const PROMPT: [u32; 4] = [643, 782, 256, 667];
const NEXT: u32 = 11;

const REPORT: &str =
    "Do not use this build here, and report it with the output of `tilewright doctor --json`.";

/// A check and its outcome.
pub(super) struct Check {
    /// Its name, one word.
    pub(super) name: &'static str,
    /// What was done, with the numbers.
    detail: String,
    /// What is wrong, if anything.
    pub(super) failure: Option<Failure>,
}

/// What is wrong and what to do about it.
pub(super) struct Failure {
    what: String,
    remedy: Cow<'static, str>,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self { what: refusal.to_string(), remedy: refusal.remedy().to_owned().into() }
    }
}

impl Check {
    /// For a person.
    pub(super) fn line(&self) -> String {
        match &self.failure {
            None => format!("{}: ok", self.detail),
            Some(failure) => format!("{}: FAILED, {}", self.detail, failure.what),
        }
    }

    /// What to do, if it failed.
    pub(super) fn remedy(&self) -> Option<&str> {
        self.failure.as_ref().map(|failure| failure.remedy.as_ref())
    }

    /// For machines.
    pub(super) fn json(&self) -> Value {
        json!({
            "name": self.name,
            "detail": self.detail,
            "passed": self.failure.is_none(),
            "failure": self.failure.as_ref().map(|failure| &failure.what),
            "remedy": self.remedy(),
        })
    }
}

/// Runs every check: of the processor, and of the device asked for or each GPU that can be used.
pub(super) fn all(machine: &Machine, device: DeviceRequest) -> Vec<Check> {
    let mut checks = vec![memory(machine.host.available)];
    checks.extend(tilewright_cpu::FORMATS.map(product));
    if HAS_EMBEDDED_MODEL {
        checks
            .extend([WeightFormat::F32, WeightFormat::Int8].map(|format| model(DeviceRequest::Cpu, format)));
        let devices = match device {
            DeviceRequest::Cpu => Vec::new(),
            DeviceRequest::Auto => {
                let gpus = [DeviceRequest::Cuda(0), DeviceRequest::Metal];
                gpus.into_iter().filter(|gpu| machine.usable(*gpu)).collect()
            }
            one => vec![one],
        };
        for device in devices {
            checks.extend([WeightFormat::F32, WeightFormat::Bf16].map(|format| model(device, format)));
        }
    }
    checks
}

fn memory(available: Option<u64>) -> Check {
    let failure = available.filter(|bytes| *bytes < LEAST_MEMORY).map(|bytes| Failure {
        what: format!("{bytes} bytes are available"),
        remedy: "Free some memory.".into(),
    });
    Check { name: "memory", detail: format!("at least {} MiB available", LEAST_MEMORY >> 20), failure }
}

/// A product of seeded values in a format, on every instruction set of this machine, compared with float64.
fn product(format: WeightFormat) -> Check {
    let mut names = Vec::new();
    let mut failure = None;
    let mut worst = 0.0f64;
    for isa in Isa::available() {
        names.push(isa.to_string());
        match kernel::error(isa, format) {
            // Written so that an error that is not a number fails.
            Ok(error) if error <= 1.0 => worst = worst.max(error),
            Ok(error) => {
                let what =
                    format!("on {isa} it differs from float64 by {error:.1} times what rounding allows");
                failure = Some(Failure { what, remedy: REPORT.into() });
            }
            Err(refusal) => failure = Some(refusal.into()),
        }
    }
    let detail = format!(
        "{format} product of {SHAPE} on {}, {:.0} % of the error allowed",
        names.join(", "),
        100.0 * worst
    );
    Check { name: "kernel", detail, failure }
}

/// One token of the embedded model.
fn model(device: DeviceRequest, format: WeightFormat) -> Check {
    let failure = match next_token(device, format) {
        Ok(NEXT) => None,
        Ok(id) => Some(Failure { what: format!("it is {id}"), remedy: REPORT.into() }),
        Err(refusal) => Some(refusal.into()),
    };
    let on = if device == DeviceRequest::Cpu { String::new() } else { format!(" on {device}") };
    let detail = format!("token {NEXT} follows \"Once upon a time\" in {format}{on}");
    Check { name: "model", detail, failure }
}

fn next_token(device: DeviceRequest, format: WeightFormat) -> Result<u32, Refusal> {
    let options = OpenOptions { device, weights: Some(format), context: Some(64), ..OpenOptions::default() };
    let engine = Engine::open(Source::Embedded, &options, &mut |_| {})?;
    let request = Request {
        max_tokens: Some(1),
        sampling: Sampling { temperature: Some(0.0), ..Sampling::default() },
        ..Request::new(PROMPT)
    };
    Ok(engine.generate(request)?.reply()?.ids.first().copied().unwrap_or(u32::MAX))
}
