//! Ceilings of a GPU, where this build has such a device.

use tilewright_backend::DeviceKind;
use tilewright_gate::report::DeviceCeilings;
use tilewright_model::Refusal;

/// How to measure a device, if it can be: an NVIDIA GPU.
pub(super) fn measure(device: DeviceKind) -> Option<impl FnMut() -> Result<DeviceCeilings, Refusal>> {
    match device {
        DeviceKind::Cuda(n) => Some(move || cuda(n)),
        DeviceKind::Cpu | DeviceKind::Metal | DeviceKind::Shim => None,
    }
}

#[cfg(feature = "cuda")]
fn cuda(n: usize) -> Result<DeviceCeilings, Refusal> {
    use tilewright_cuda::{Ceiling, Ceilings};
    use tilewright_gate::report::{Products, Rate};
    use tilewright_model::Code;

    let rate = |ceiling: Ceiling| Rate::new(ceiling.work, ceiling.times_ns);
    let measured = Ceilings::measure(n, &mut |_| Ok(())).map_err(|refusal| match refusal.code() {
        Code::OutOfMemory => {
            refusal.with_remedy("Close other programs that use the GPU, or add --no-ceilings.")
        }
        _ => refusal,
    })?;
    Ok(DeviceCeilings {
        device: DeviceKind::Cuda(n).to_string(),
        name: measured.gpu.name,
        read: rate(measured.read),
        f32: rate(measured.f32),
        bf16: measured.bf16.map(|(instruction, ceiling)| Products {
            instruction: instruction.to_owned(),
            rate: rate(ceiling),
        }),
    })
}

#[cfg(not(feature = "cuda"))]
fn cuda(n: usize) -> Result<DeviceCeilings, Refusal> {
    use tilewright_model::Code;

    let expected = "a device of this build (cpu; NVIDIA GPUs are left out)";
    Err(Refusal::new(Code::DeviceUnavailable, "device", expected, DeviceKind::Cuda(n)))
}
