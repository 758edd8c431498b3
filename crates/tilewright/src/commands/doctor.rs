//! `doctor`: what this machine can do, and whether it does it right.
//!
//! Facts are looked up, then two things are really done: kernels multiply and are compared with float64, and the
//! embedded model picks a token whose id is known. The last line is `READY`, or `NOT READY` with what to do.

mod checks;
mod kernel;
mod machine;

use clap::Args;
use serde_json::{Value, json};
use tilewright_engine::DeviceRequest;

use self::checks::Check;
use self::machine::Machine;
use crate::console::Console;
use crate::exit::Failure;
use crate::flags::OutputFlags;

/// Say what this machine can do and check that it does it right
///
/// Runs real kernels and one step of the model inside the program, on the processor and on the device, or with `auto` on
/// each GPU that can be used. The last line is READY, or NOT READY with the remedy.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Device: auto, cpu, cuda, cuda:N, metal or (for developers) shim. No other device is used in its place
    #[arg(long, value_name = "DEVICE", default_value_t = DeviceRequest::Auto)]
    device: DeviceRequest,

    #[command(flatten)]
    pub output: OutputFlags,
}

/// Carries `doctor` out.
pub(crate) fn run(args: DoctorArgs, console: &mut Console) -> Result<(), Failure> {
    let machine = Machine::look();
    let checks = checks::all(&machine, args.device);
    let failed: Vec<&Check> = checks.iter().filter(|check| check.failure.is_some()).collect();
    if console.json() {
        let list: Vec<Value> = checks.iter().map(Check::json).collect();
        console.object(&json!({"machine": machine.json(), "checks": list, "ready": failed.is_empty()}))?;
    } else {
        console.text(&machine.page())?;
        for check in &checks {
            console.line(&format!("{:<10} {}", check.name, check.line()))?;
        }
        match failed.as_slice() {
            [] => console.line("READY")?,
            failed => {
                let remedies: Vec<&str> = failed.iter().filter_map(|check| check.remedy()).collect();
                console.line(&format!("NOT READY: {}", remedies.join(" ")))?;
            }
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Failure::Negative) }
}
