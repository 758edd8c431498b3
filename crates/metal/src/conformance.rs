//! A kernel of the catalogue on a device, compared with the interpreter, which defines what they mean.

use std::sync::Arc;

use tilewright_model::{Code, Refusal};
use tilewright_tile::interp::{Bound as Argument, Memory, Slice};
use tilewright_tile::ir::Param;
use tilewright_tile::testing::conformance;
use tilewright_tile::testing::trial::Trial;
use tilewright_tile::{Kernel, Literal, Scalar, Verified};

use crate::{Bound, Device, Launch};

/// What came of one kernel.
pub type Outcome = conformance::Outcome<Refusal>;

/// How far a device may be from the interpreter: its own order inside reductions and its own precise functions, in f32;
/// a few units in the last place of narrower types.
fn tolerance(scalar: Scalar, expected: f64) -> f64 {
    let size = expected.abs().max(1.0);
    match scalar {
        Scalar::F16 => 2f64.powi(-9) * size,
        Scalar::Bf16 => 2f64.powi(-6) * size,
        _ => 1e-4 * size,
    }
}

/// Runs one kernel on noise, here and in the interpreter.
pub fn compare<D: Device>(device: &D, kernel: Kernel) -> Outcome {
    conformance::compare(kernel, 1..=1, tolerance, |kernel, trial| run(device, kernel, trial))
}

/// What a parameter of a trial is on the device.
enum Held<B> {
    Buffer(Slice, B),
    Number(Literal),
}

/// Runs a trial on the device: its memory afterwards.
fn run<D: Device>(device: &D, kernel: &Arc<Verified>, trial: &Trial) -> Result<Memory, Refusal> {
    let (mut memory, dispatch) = trial.dispatch(kernel);
    let compiled = device.compile(std::slice::from_ref(kernel), &mut || Ok(()))?;
    let mut held = Vec::new();
    for argument in dispatch.bound {
        held.push(match argument {
            Argument::Buffer(slice) => {
                let data = memory.data(slice.buffer);
                let mut buffer = device.allocate((data.len() as u64).max(16))?;
                device.upload(&mut buffer, 0, data)?;
                Held::Buffer(*slice, buffer)
            }
            Argument::Scalar(number) => Held::Number(*number),
        });
    }
    let bound = held.iter().map(|held| match held {
        Held::Buffer(slice, buffer) => Bound::Bytes { buffer, offset: slice.offset, bytes: slice.bytes },
        Held::Number(number) => Bound::Number(*number),
    });
    let bound: Vec<_> = bound.collect();
    let mut commands = device.begin()?;
    for compiled in &compiled {
        let (groups, threads) = (dispatch.groups, kernel.launch().threads);
        device.encode(
            &mut commands,
            &Launch { kernel: compiled, groups, threads, bound: &bound, waits: true },
        )?;
    }
    device.commit(&mut commands)?;
    let ran = device.wait(commands)?;
    if ran != 1 {
        return Err(Refusal::new(Code::DispatchCountMismatch, kernel.name(), "1 dispatch", ran));
    }
    drop(bound);
    for (held, param) in held.iter().zip(kernel.params()) {
        let (Held::Buffer(slice, buffer), Param::Buffer(of)) = (held, param) else { continue };
        if kernel.buffers()[*of].access.writes() {
            device.download(buffer, 0, memory.data_mut(slice.buffer))?;
        }
    }
    Ok(memory)
}
