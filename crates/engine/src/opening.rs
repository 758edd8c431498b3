//! Opening a model: checkpoint, device, plan, tokenizer, in this order; whatever cannot be honored is refused on the
//! way, before weights are read.

use std::time::Instant;

use tilewright_backend::{Cancel, DeviceKind, Plan, Progress, Resident};
use tilewright_cpu::{CpuOptions, Host};
use tilewright_model::{Checkpoint, Code, Config, Parameters, Refusal, StoredType, Tokenizer};

use crate::text::no_tokenizer;
use crate::{Cache, Engine, EngineParts, OpenOptions, Source, gpu, staged};

/// What opening would decide, from facts alone: no weights are read and nothing is put on a device. `stored` says how each
/// tensor is stored.
///
/// # Errors
/// `device_option_invalid`, `out_of_memory`, or why the device asked for cannot be used.
pub fn resolve_plan(
    config: &Config,
    stored: &Parameters<StoredType>,
    options: &OpenOptions,
) -> Result<Plan, Refusal> {
    let kind = options.choose_device()?.kind;
    staged::check(kind, options)?;
    match kind {
        DeviceKind::Cuda(n) => gpu::resolve_plan(n, config, stored, options),
        DeviceKind::Metal | DeviceKind::Shim => staged::resolve_plan(kind, config, stored, options),
        DeviceKind::Cpu => {
            tilewright_cpu::resolve_plan(config, stored, &cpu_options(options), &Host::detect())
        }
    }
}

/// Makes a checkpoint resident on the device of `kind`, without an engine around it: for measurement and proof.
///
/// # Errors
/// Whatever is wrong with the options, the machine or the weights, by name; `cancelled` within a tensor or a kernel.
pub fn open_resident(
    kind: DeviceKind,
    checkpoint: &Checkpoint,
    options: &OpenOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Box<dyn Resident>, Refusal> {
    staged::check(kind, options)?;
    let watch = &mut |at| {
        progress(at);
        goes_on(&options.cancel)
    };
    match kind {
        DeviceKind::Cuda(n) => gpu::open(n, checkpoint, options, watch),
        DeviceKind::Metal | DeviceKind::Shim => staged::open(kind, checkpoint, options, watch),
        DeviceKind::Cpu => tilewright_cpu::open(checkpoint, &cpu_options(options), watch),
    }
}

impl Engine {
    /// Opens a model and makes it resident. `progress` is told how far it is.
    ///
    /// # Errors
    /// Whatever is wrong with the checkpoint, its tokenizer, the options or the machine, by name; `cancelled`.
    pub fn open(
        source: Source,
        options: &OpenOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, Refusal> {
        let start = Instant::now();
        let device = options.choose_device()?;
        staged::check(device.kind, options)?;
        let checkpoint = match &source {
            Source::Embedded => Checkpoint::embedded()?,
            Source::Path(path) => Checkpoint::open(path)?,
        };
        let tokenizer = checkpoint
            .tokenizer_json()
            .is_some()
            .then(|| Tokenizer::from_checkpoint(&checkpoint))
            .transpose()?;
        if options.needs_text && tokenizer.is_none() {
            return Err(no_tokenizer().at(&source));
        }
        let mut options = options.clone();
        if source == Source::Embedded && device.kind == DeviceKind::Cpu {
            options.cache = Cache::Off;
        }
        goes_on(&options.cancel)?;
        let resident = open_resident(device.kind, &checkpoint, &options, progress)?;
        goes_on(&options.cancel)?;
        let parts = EngineParts {
            device,
            tokenizer,
            template: checkpoint.chat_template().map(|(text, source)| (text.to_owned(), source.to_string())),
            stop_set: checkpoint.stop_set().clone(),
            generation: checkpoint.generation_config().clone(),
            load_time: start.elapsed(),
        };
        Ok(Self::from_parts(resident, parts))
    }
}

/// Refuses to go on when nobody waits any more.
fn goes_on(cancel: &Cancel) -> Result<(), Refusal> {
    if cancel.is_cancelled() { Err(Refusal::with_findings(Code::Cancelled, Vec::new())) } else { Ok(()) }
}

fn cpu_options(options: &OpenOptions) -> CpuOptions {
    CpuOptions {
        weights: options.weights,
        kv: options.kv,
        threads: options.threads,
        context: options.context,
        prefill_chunk: options.prefill_chunk,
        numerics: options.numerics.unwrap_or_default(),
        isa: None,
        cache: options.cache.resolve(),
    }
}
