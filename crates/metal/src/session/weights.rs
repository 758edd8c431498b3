//! Weights, brought into the plan's format and uploaded once.

use half::{bf16, f16};
use tilewright_backend::{Packing, Plan, Progress, Scopes, Stage, Watch};
use tilewright_kernels::host;
use tilewright_model::{Checkpoint, Code, Refusal, WeightFormat};

use super::machine::Machine;
use crate::Device;

/// Uploads every matrix under the name pipelines have for it; gives what is held packed.
///
/// # Errors
/// `non_finite_weight`; `device_option_invalid` for a weight that the plan's format cannot hold; `packed_weights_differ`; those
/// of the device.
pub(super) fn upload<D: Device>(
    machine: &mut Machine<D>,
    checkpoint: &Checkpoint,
    plan: &Plan,
    progress: &mut Watch<'_>,
) -> Result<Option<Packing>, Refusal> {
    let (formats, total) = (machine.formats(), plan.weight_bytes);
    let parameters = checkpoint.parameters();
    let elements = elements(checkpoint).max(1);
    let (mut read, mut rounded) = (0u64, 0);
    progress(Progress { stage: Stage::Pack, done: 0, total })?;
    let host::Weights { resources, packed } =
        host::weights(&parameters, &machine.shape(), formats, |tensor| {
            let mut numbers = tensor.to_f32()?;
            if plan.weights == WeightFormat::Bf16 {
                let changed = round(&mut numbers)?;
                rounded += if tensor.shape.len() > 1 { changed } else { 0 };
            }
            // Norms and biases are held in f32.
            if plan.weights == WeightFormat::F16 && tensor.shape.len() > 1 {
                fit(WeightFormat::F16, &numbers, |number| f16::from_f32(number).is_infinite())?;
            }
            read += numbers.len() as u64;
            let done = (u128::from(total) * u128::from(read) / u128::from(elements)) as u64;
            progress(Progress { stage: Stage::Pack, done: done.min(total), total })?;
            Ok(numbers)
        })?;
    for (name, bytes) in resources {
        progress(Progress { stage: Stage::Pack, done: total, total })?;
        machine.put(name, &bytes)?;
    }
    progress(Progress { stage: Stage::Pack, done: total, total })?;
    Ok(Packing::of(Scopes { vocabulary: packed.vocabulary, layers: packed.layers }, rounded))
}

/// Rounds to bf16, by which nothing changes in what came from it; gives how many numbers became others.
fn round(numbers: &mut [f32]) -> Result<u64, Refusal> {
    fit(WeightFormat::Bf16, numbers, |number| bf16::from_f32(number).is_infinite())?;
    let mut changed = 0;
    for number in numbers {
        let rounded = bf16::from_f32(*number).to_f32();
        changed += u64::from(rounded.to_bits() != number.to_bits());
        *number = rounded;
    }
    Ok(changed)
}

/// Refuses numbers that a format would make infinite: everything after them would be no number.
fn fit(format: WeightFormat, numbers: &[f32], overflows: impl Fn(f32) -> bool) -> Result<(), Refusal> {
    match numbers.iter().find(|number| number.is_finite() && overflows(**number)) {
        None => Ok(()),
        Some(number) => {
            let got = format!("{format}, which is too narrow for {number}");
            Err(Refusal::new(Code::DeviceOptionInvalid, "weights", "a format that holds every weight", got))
        }
    }
}

/// Elements of all tensors.
fn elements(checkpoint: &Checkpoint) -> u64 {
    let mut count = 0;
    let counted = checkpoint.parameters().try_map(|_, tensor| {
        count += tensor.shape.iter().product::<usize>() as u64;
        Ok::<(), Refusal>(())
    });
    counted.map_or(0, |_| count)
}

#[cfg(test)]
mod tests;
