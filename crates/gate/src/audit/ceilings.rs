//! Ceilings: of the device that ran, and of a GPU what follows from their trials.

use crate::report::{Passed, Report};

pub(super) fn audit(report: &Report, passed: &Passed, faults: &mut Vec<String>) {
    if report.machine.gpu.is_some() && !passed.ceilings.is_empty() {
        faults.push("ceilings of the processor beside times of a GPU".to_owned());
    }
    for ceilings in &passed.ceilings {
        if !(ceilings.read > 0.0 && ceilings.fma > 0.0) {
            faults.push("a ceiling is not positive".to_owned());
        }
    }
    let all = &passed.device_ceilings;
    if all.len() > 2 {
        faults.push(format!("ceilings were measured {} times, not before and after", all.len()));
    }
    for ceilings in all {
        let gpu = report.machine.gpu.as_ref().map(|gpu| gpu.name.as_str());
        if gpu != Some(ceilings.name.as_str()) || ceilings.device != report.method.device {
            faults.push(format!(
                "ceilings of {}, {} beside times of {}, {}",
                ceilings.device,
                ceilings.name,
                report.method.device,
                gpu.unwrap_or("no GPU")
            ));
        }
        faults.extend(ceilings.faults());
    }
    let instruction = |at: usize| all.get(at).map(|c| c.bf16.as_ref().map(|products| &products.instruction));
    if all.len() > 1 && instruction(0) != instruction(1) {
        faults.push("ceilings before and after are of other products".to_owned());
    }
}
