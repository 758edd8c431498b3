//! Opening a checkpoint on a GPU.

use std::collections::BTreeMap;

use tilewright_backend::{Resident, Watch};
use tilewright_kernels::Shape;
use tilewright_model::{Checkpoint, Refusal, WeightFormat};

use crate::blocks::Blocks;
use crate::compile::compile;
use crate::decoder::Decoder;
use crate::device::Device;
use crate::gpu::{Gpu, find};
use crate::held::Held;
use crate::kv::layout::pages;
use crate::kv::{Layout, Store};
use crate::options::CudaOptions;
use crate::overlap::{self, Overlap, capacity};
use crate::plan::sizes::shared_bytes;
use crate::plan::{is_hopper, is_overlapping, is_persistent, paths, resolve_plan};
use crate::resident::CudaModel;
use crate::rope::RopeTable;
use crate::rows::{Hopper, Rows};
use crate::stages::Stages;
use crate::text;
use crate::together::{ROWS, Together, takes_shape};
use crate::weights::upload;

/// Memory left to others beside pages and what grows with the longest sequence.
const RESERVE: u64 = 256 << 20;

/// Makes `checkpoint` resident: finds the GPU, resolves the plan, compiles kernels, uploads every matrix.
///
/// # Errors
/// Those of [`find`], [`resolve_plan`] and [`compile`] before any weight is read; `non_finite_weight` naming tensor and
/// index; `out_of_memory`; `device_failed`.
pub fn open(
    checkpoint: &Checkpoint,
    options: &CudaOptions,
    progress: &mut Watch<'_>,
) -> Result<Box<dyn Resident>, Refusal> {
    Ok(Box::new(open_model(checkpoint, options, progress)?))
}

/// As [`open`](fn@open), with what only a GPU offers.
///
/// # Errors
/// As [`open`](fn@open).
pub fn open_model(
    checkpoint: &Checkpoint,
    options: &CudaOptions,
    progress: &mut Watch<'_>,
) -> Result<CudaModel, Refusal> {
    let gpu = find(options.ordinal)?;
    let granularity = gpu.granularity.filter(|_| options.pages != Some(false));
    let gpu = Gpu { granularity, ..gpu };
    let config = checkpoint.config().clone();
    let stored = checkpoint.parameters().map(|_, tensor| tensor.stored);
    let mut plan = resolve_plan(&config, &stored, options, &gpu)?;
    let (arch, driver, persistent) = (gpu.arch(), Some(gpu.driver), is_persistent(&plan));
    let held = Held::of(&config, plan.weights, paths(&plan));
    let (pieces, layout) = (gpu.granularity, Layout::new(&config, plan.kv, gpu.granularity));
    let text = if is_hopper(&plan) {
        text::hopper(&config, pieces)
    } else {
        text::plain(&config, held.is_wide(), plan.kv, persistent, pieces)
    };
    let many = compile(&text, &arch, driver, progress)?;
    let int8 = plan.weights == WeightFormat::Int8;
    let decode = persistent
        .then(|| compile(&text::persistent(&config, int8, pieces), &arch, driver, progress))
        .transpose()?;
    // Several sequences decode persistently where one does, from the same weights.
    let several = persistent && is_hopper(&plan) && takes_shape(&config, plan.context);
    let beside = if several { &ROWS[..] } else { &[] };
    let beside = beside
        .iter()
        .map(|rows| compile(&text::together(&config, *rows, int8, pieces), &arch, driver, progress))
        .collect::<Result<Vec<_>, Refusal>>()?;
    plan.notes.extend(many.notes);
    let device = Device::open(options.ordinal)?;
    let formats = overlap::formats(&config, plan.weights, &stored);
    let overlap = match is_overlapping(&plan) {
        true => {
            let as_planned = (plan.weights, plan.kv, is_hopper(&plan));
            let lengths = (plan.context, layout);
            Some(Overlap::new(&device, &config, &gpu, as_planned, formats.clone(), lengths, progress)?)
        }
        false => None,
    };
    let module = device.module(many.cubin)?;
    let shape = Shape::new(&config, capacity(0, plan.context) as u32);
    let model = (&shape, &formats);
    let weights = upload(checkpoint, held, model, &device, progress)?;
    let decoder = match decode {
        Some(kernels) => {
            Some(Decoder::new(&device, &device.module(kernels.cubin)?, &config, &weights, int8)?)
        }
        None => None,
    };
    let together = match &decoder {
        Some(decoder) if !beside.is_empty() => {
            let modules = beside.into_iter().map(|kernels| device.module(kernels.cubin));
            let modules = modules.collect::<Result<Vec<_>, Refusal>>()?;
            Some(Together::new(&device, &modules, &config, decoder.tapes())?)
        }
        _ => None,
    };
    let most = plan.prefill_chunk;
    let rows = if is_hopper(&plan) {
        Rows::Hopper(Box::new(Hopper::new(&device, &module, &config, &weights, &gpu, (most, together))?))
    } else {
        let blocks = held.by_planes().then(|| Blocks::new(&device, &gpu, model, most, progress));
        let blocks = blocks.transpose()?;
        Rows::Staged(Box::new(Stages::new(&device, &module, &config, most, blocks)?))
    };
    let rope = RopeTable::new(&device)?;
    let fragments = persistent || is_hopper(&plan);
    // A context, and a page that is being copied, have been planned for.
    let most = match gpu.granularity {
        Some(_) => {
            let others = RESERVE + shared_bytes(&config, plan.context);
            let free = device.free()?.saturating_sub(others) / layout.page_bytes() as u64;
            Some(usize::try_from(free).unwrap_or(usize::MAX).max(pages(plan.context) + 1))
        }
        None => None,
    };
    let store = Store::new(&device, layout, fragments, most);
    let sequences = BTreeMap::new();
    Ok(CudaModel { config, plan, weights, rows, decoder, overlap, rope, sequences, next: 0, store, device })
}
