//! The verifier: which kernels may run.
//!
//! [`verify`] checks, in this order, each step only when the ones before found nothing:
//!
//! 1. declarations: names, sizes, device limits, views inside their memory;
//! 2. structure: every value is defined where it is used and has the type its operation takes;
//! 3. meaning, on what [`analysis`] knows of the values: bounds of every access (proven inside, or guarded), access
//!    modes, alignment, integer division and shifts, uniform control around barriers and collectives, fragments, tiles,
//!    races and unwritten reads of shared memory, races in device memory.
//!
//! A kernel that passes becomes a [`Verified`] one, which carries the facts the emitters need: a printer takes
//! nothing else and cannot fail.
//!
//! What is not proven statically, and left to the interpreter: that every element between the first and last written
//! one was written before it is read (only the range is compared), and that run-time indices loaded from memory hold
//! what their clamp says.

mod access;
pub mod analysis;
mod control;
mod declarations;
mod device;
mod explain;
mod facts;
mod fragment;
mod launch;
mod limits;
mod numbers;
mod overlap;
mod pairs;
mod rule;
mod shared;
mod structure;
mod tile;
mod touch;
mod types;
mod unwritten;

use std::ops::Deref;

use crate::ir::{Kernel, Names, OpId, describe};

pub use explain::explain;
pub use facts::{AxisGuard, Facts};
pub use limits::Limits;
pub use rule::{Finding, Level, Rejection, Rule};
pub(crate) use tile::filled;

use analysis::Analysis;

/// Something that can be verified, and what is then known of it.
pub trait Subject {
    /// What verification proves.
    type Facts;
}

impl Subject for Kernel {
    type Facts = Facts;
}

/// What passed verification, with what was proven of it. There is no other way to make one.
#[derive(Clone, Debug)]
pub struct Verified<T: Subject = Kernel> {
    item: T,
    facts: T::Facts,
}

impl<T: Subject> Deref for Verified<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.item
    }
}

impl<T: Subject> Verified<T> {
    pub(crate) const fn new(item: T, facts: T::Facts) -> Self {
        Self { item, facts }
    }

    /// What was proven.
    pub const fn facts(&self) -> &T::Facts {
        &self.facts
    }
}

/// Checks `kernel` against the rules and [`Limits::COMMON`].
///
/// # Errors
/// Every broken rule of the first step that found any.
pub fn verify(kernel: Kernel) -> Result<Verified, Rejection> {
    verify_for(kernel, &Limits::COMMON)
}

/// Checks `kernel` against the rules and the limits of a device.
///
/// # Errors
/// Every broken rule of the first step that found any.
pub fn verify_for(kernel: Kernel, limits: &Limits) -> Result<Verified, Rejection> {
    let mut findings = Findings { names: Names::new(&kernel), kernel: &kernel, list: Vec::new() };
    let facts = check(&kernel, limits, &mut findings);
    match (facts, findings.list) {
        (Some(facts), list) if list.is_empty() => Ok(Verified::new(kernel, facts)),
        (_, findings) => Err(Rejection { kernel: kernel.name.clone(), findings }),
    }
}

fn check(kernel: &Kernel, limits: &Limits, findings: &mut Findings<'_>) -> Option<Facts> {
    declarations::check(kernel, limits, findings);
    findings.none()?;
    structure::check(kernel, findings);
    findings.none()?;
    let analysis = Analysis::new(kernel);
    let mut facts = Facts::new(kernel);
    numbers::check(kernel, &analysis, findings);
    control::check(kernel, &analysis, findings);
    access::check(kernel, &analysis, &mut facts, findings);
    fragment::check(kernel, &analysis, &mut facts, findings);
    tile::check(kernel, findings);
    launch::check(kernel, &mut facts, findings);
    findings.none()?;
    shared::check(kernel, &analysis, &facts, findings);
    unwritten::check(kernel, &analysis, &facts, findings);
    device::check(kernel, &analysis, &facts, findings);
    findings.none()?;
    facts.finish(kernel, &analysis);
    Some(facts)
}

/// Collects broken rules with their places.
struct Findings<'a> {
    kernel: &'a Kernel,
    names: Names,
    list: Vec<Finding>,
}

impl Findings<'_> {
    fn none(&self) -> Option<()> {
        self.list.is_empty().then_some(())
    }

    fn describe(&self, op: OpId) -> String {
        describe(self.kernel, &self.names, op)
    }

    /// A rule broken by an operation.
    fn at(&mut self, op: OpId, rule: Rule) {
        let finding = Finding { rule, place: self.describe(op), at: Some(self.kernel.ops[op].at) };
        if !self.list.contains(&finding) {
            self.list.push(finding);
        }
    }

    /// A rule broken by a declaration.
    fn declared(&mut self, place: impl Into<String>, rule: Rule) {
        self.list.push(Finding { rule, place: place.into(), at: None });
    }
}
