//! Checking a launch before it runs.

use crate::bind;
use crate::ir::{Kernel, print};

use super::fault::{Fault, FaultKind};
use super::memory::{Bound, Memory};
use super::program::Program;
use super::run::Dispatch;

impl Dispatch<'_> {
    /// What [`bind::check`] objects to when `kernel` is launched so, and every range beyond the buffers there are.
    pub fn objections(&self, kernel: &Kernel, memory: &Memory) -> Vec<String> {
        let mut reasons = Vec::new();
        for bound in self.bound {
            if let Bound::Buffer(slice) = bound {
                let there = memory.get(slice.buffer).map_or(0, |b| b.data.len() as u64);
                if slice.offset.saturating_add(slice.bytes) > there {
                    reasons.push(format!("{slice:?} is beyond its buffer of {there} bytes"));
                }
            }
        }
        let bound: Vec<bind::Bound> = self
            .bound
            .iter()
            .map(|bound| match bound {
                Bound::Buffer(slice) => bind::Bound::Range(slice.range()),
                Bound::Scalar(literal) => bind::Bound::Scalar(*literal),
            })
            .collect();
        reasons.extend(bind::check(kernel, self.groups, &bound).iter().map(ToString::to_string));
        reasons
    }
}

/// Refuses a launch that there are objections to, or of a kernel with mistakes.
pub(super) fn check(program: &Program, memory: &Memory, dispatch: &Dispatch<'_>) -> Result<(), Box<Fault>> {
    let kernel = &program.kernel;
    let mut reasons: Vec<String> = kernel
        .mistakes
        .iter()
        .map(|mistake| format!("{} (built at {})", mistake.message, mistake.at))
        .collect();
    reasons.extend(dispatch.objections(kernel, memory));
    if reasons.is_empty() {
        return Ok(());
    }
    Err(Box::new(Fault {
        kernel: kernel.name.clone(),
        op: print(kernel).lines().next().unwrap_or_default().to_owned(),
        at: std::panic::Location::caller(),
        group: [0; 3],
        thread: 0,
        kind: FaultKind::Launch { reason: reasons.join("; ") },
    }))
}
