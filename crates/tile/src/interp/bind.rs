//! Does a launch fit its kernel?

use crate::ir::{Param, print};
use crate::types::Scalar;

use super::fault::{Fault, FaultKind};
use super::memory::{Bound, Memory};
use super::program::Program;
use super::run::Dispatch;

/// Refuses a launch with other parameters, ranges too short, misaligned or overlapping, or too many threadgroups.
pub(super) fn check(program: &Program, memory: &Memory, dispatch: &Dispatch<'_>) -> Result<(), Box<Fault>> {
    let kernel = &program.kernel;
    let refuse = |reason: String| {
        Err(Box::new(Fault {
            kernel: kernel.name.clone(),
            op: print(kernel).lines().next().unwrap_or_default().to_owned(),
            at: std::panic::Location::caller(),
            group: [0; 3],
            thread: 0,
            kind: FaultKind::Launch { reason },
        }))
    };
    if !kernel.mistakes.is_empty() {
        return refuse(format!("the kernel was built with mistakes: {}", kernel.mistakes[0].message));
    }
    if dispatch.bound.len() != kernel.params.len() {
        return refuse(format!("{} parameters bound, not {}", dispatch.bound.len(), kernel.params.len()));
    }
    if (0..3).any(|axis| dispatch.groups[axis] > kernel.launch.groups[axis]) {
        let (got, most) = (dispatch.groups, kernel.launch.groups);
        return refuse(format!("{got:?} threadgroups, where the kernel is made for {most:?}"));
    }
    let _ = memory;
    for (param, bound) in kernel.params.iter().zip(dispatch.bound) {
        match (param, bound) {
            (Param::Buffer(b), Bound::Buffer(slice)) => {
                let buffer = &kernel.buffers[*b];
                let (size, name) = (u64::from(buffer.element.bytes()), &buffer.name);
                let there = memory.get(slice.buffer).map_or(0, |b| b.data.len() as u64);
                if slice.offset % size != 0 || slice.offset + slice.bytes > there {
                    return refuse(format!("{name} is bound to {slice:?} of a buffer of {there} bytes"));
                }
            }
            (Param::Argument(a), Bound::Scalar(literal)) => {
                let argument = &kernel.arguments[*a];
                let outside = literal.as_i64().is_some_and(|v| v < argument.range.0 || v > argument.range.1);
                if literal.scalar() != argument.scalar || outside && argument.scalar != Scalar::F32 {
                    return refuse(format!(
                        "{} is bound to {literal}, outside {:?}",
                        argument.name, argument
                    ));
                }
            }
            (Param::Buffer(b), Bound::Scalar(_)) => {
                return refuse(format!("{} is a buffer, bound to a scalar", kernel.buffers[*b].name));
            }
            (Param::Argument(a), Bound::Buffer(_)) => {
                return refuse(format!("{} is a scalar, bound to a buffer", kernel.arguments[*a].name));
            }
        }
    }
    Ok(())
}
