//! Weights, brought into the plan's format and uploaded once.

use half::{bf16, f16};
use tilewright_backend::{Plan, Progress, Stage, Watch};
use tilewright_kernels::host;
use tilewright_model::{Checkpoint, Code, Refusal, WeightFormat};

use super::machine::Machine;
use crate::Device;

/// Uploads every matrix under the name pipelines have for it.
///
/// # Errors
/// `non_finite_weight`; `device_option_invalid` for a weight that the plan's format cannot hold; those of the device.
pub(super) fn upload<D: Device>(
    machine: &mut Machine<D>,
    checkpoint: &Checkpoint,
    plan: &Plan,
    progress: &mut Watch<'_>,
) -> Result<(), Refusal> {
    let (formats, total) = (machine.formats(), plan.weight_bytes);
    let parameters = checkpoint.parameters();
    let elements = elements(checkpoint).max(1);
    let mut read = 0u64;
    progress(Progress { stage: Stage::Pack, done: 0, total })?;
    let resources = host::weights(&parameters, &machine.shape(), formats, |tensor| {
        let mut numbers = tensor.to_f32()?;
        if plan.weights == WeightFormat::Bf16 {
            // Nothing changes in what came from bf16.
            numbers.iter_mut().for_each(|number| *number = bf16::from_f32(*number).to_f32());
        }
        // Norms and biases are held in f32.
        if plan.weights == WeightFormat::F16 && tensor.shape.len() > 1 {
            fit_half(&numbers)?;
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
    progress(Progress { stage: Stage::Pack, done: total, total })
}

/// Refuses numbers that f16 would make infinite: everything after them would be no number.
fn fit_half(numbers: &[f32]) -> Result<(), Refusal> {
    match numbers.iter().find(|number| number.is_finite() && f16::from_f32(**number).is_infinite()) {
        None => Ok(()),
        Some(number) => {
            let got = format!("f16, which is too narrow for {number}");
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
