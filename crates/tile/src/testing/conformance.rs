//! A kernel on noise on some machine, compared with the interpreter, which defines what it means.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::interp::Memory;
use crate::ir::Kernel;
use crate::types::Scalar;
use crate::verify::{Verified, verify};

use super::trial::Trial;

/// What came of one kernel; `E` says why a machine did not run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<E> {
    /// Every bit is the interpreter's.
    Exact,
    /// Every number is near the interpreter's: the first that differs.
    Near(String),
    /// A number is not near: the first.
    Different(String),
    /// The verifier or the interpreter refuses it.
    Rejected(String),
    /// It was not compiled or not run.
    Refused(E),
    /// The machine lacks what it is for: why.
    Skipped(String),
}

impl<E> Outcome<E> {
    /// Whether the machine may be used.
    pub const fn is_ok(&self) -> bool {
        matches!(self, Self::Exact | Self::Near(_))
    }
}

/// Runs a kernel on the noise of each of `seeds`, here and by `run`, which gives the memory of a trial afterwards. Numbers are
/// near that differ by no more than `tolerance` of their type and value.
pub fn compare<E>(
    kernel: Kernel,
    seeds: RangeInclusive<u32>,
    tolerance: impl Fn(Scalar, f64) -> f64,
    mut run: impl FnMut(&Arc<Verified>, &Trial) -> Result<Memory, E>,
) -> Outcome<E> {
    let kernel = match verify(kernel) {
        Ok(kernel) => Arc::new(kernel),
        Err(rejection) => return Outcome::Rejected(rejection.to_string()),
    };
    let mut near = None;
    for seed in seeds {
        let trial = Trial::new(&kernel, seed, &(0..=3));
        let expected = match trial.run(&kernel) {
            Ok((expected, _)) => expected,
            Err(fault) => return Outcome::Rejected(fault.to_string()),
        };
        let got = match run(&kernel, &trial) {
            Ok(got) => got,
            Err(refusal) => return Outcome::Refused(refusal),
        };
        let Some(first) = trial.difference(&expected, &got) else { continue };
        if let Some(first) = trial.difference_beyond(&expected, &got, &tolerance) {
            return Outcome::Different(first);
        }
        near.get_or_insert(first);
    }
    near.map_or(Outcome::Exact, Outcome::Near)
}
