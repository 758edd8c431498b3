//! Opening a checkpoint on this device.

use half::f16;
use tilewright_backend::{KvFormat, Resident, Watch};
use tilewright_model::{Checkpoint, Refusal, WeightFormat};

use crate::cache;
use crate::forward::Decoder;
use crate::host::Host;
use crate::load::pack;
use crate::matmul::Matrix;
use crate::options::CpuOptions;
use crate::plan::resolve_plan;
use crate::pool::Pool;
use crate::resident::CpuModel;
use crate::rows::Rows;

/// Makes `checkpoint` resident: resolves the plan, then packs every matrix, or reads what an earlier start packed. What
/// became of the cache is told in the plan's notes.
///
/// # Errors
/// Those of [`resolve_plan`] before any work; `non_finite_weight` naming tensor and index; `out_of_memory`.
pub fn open(
    checkpoint: &Checkpoint,
    options: &CpuOptions,
    progress: &mut Watch<'_>,
) -> Result<Box<dyn Resident>, Refusal> {
    let host = Host::detect();
    let stored = checkpoint.parameters().map(|_, tensor| tensor.stored);
    let mut plan = resolve_plan(checkpoint.config(), &stored, options, &host)?;
    let isa = options.isa.unwrap_or(host.isa);
    let pool = Pool::new(plan.threads);
    let weights = match options.cache.as_ref().filter(|cache| cache.keeps(&plan)) {
        Some(cache) => {
            let (weights, notes) =
                cache::load(&cache.folder, checkpoint, plan.weights, (isa, &pool), progress)?;
            plan.notes.extend(notes);
            weights
        }
        None => pack(checkpoint, plan.weights, (isa, &pool), progress)?,
    };
    if plan.weights == WeightFormat::Gguf {
        // The types of all tensors are known only now.
        let bytes =
            |matrices: &mut dyn Iterator<Item = &Matrix>| matrices.map(|m| m.size() as u64).sum::<u64>();
        plan.weight_bytes = bytes(&mut weights.matrices());
        plan.bytes_per_token = plan.weight_bytes - bytes(&mut weights.embedding.iter());
    }
    let decoder =
        Decoder::new(checkpoint.config().clone(), weights, pool, Rows { isa, numerics: options.numerics });
    Ok(match plan.kv {
        KvFormat::F32 => Box::new(CpuModel::<f32>::new(decoder, plan)),
        // The plan refuses others.
        KvFormat::F16 | KvFormat::Bf16 | KvFormat::Int8 => Box::new(CpuModel::<f16>::new(decoder, plan)),
    })
}
