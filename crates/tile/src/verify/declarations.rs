//! Step 1: declarations.

use std::collections::BTreeSet;

use crate::ir::{Kernel, Param, Space, View};
use crate::types::Scalar;

use super::Findings;
use super::limits::Limits;
use super::rule::Rule;

pub(super) fn check(kernel: &Kernel, limits: &Limits, findings: &mut Findings<'_>) {
    for mistake in &kernel.mistakes {
        findings.declared(mistake.at.to_string(), Rule::Mistake(mistake.message.clone()));
    }
    launch(kernel, limits, findings);
    names(kernel, findings);
    for (_, buffer) in kernel.buffers.iter() {
        storage(&buffer.name, buffer.element, findings);
    }
    for (_, shared) in kernel.shared.iter() {
        storage(&shared.name, shared.element, findings);
    }
    for (_, view) in kernel.views.iter() {
        check_view(kernel, view, limits, findings);
    }
}

fn launch(kernel: &Kernel, limits: &Limits, findings: &mut Findings<'_>) {
    let place = || format!("kernel {}", kernel.name);
    let threads = kernel.launch.threads;
    if threads == 0 || !threads.is_multiple_of(32) || threads > limits.threads {
        findings.declared(place(), Rule::Threads { threads, most: limits.threads });
    }
    for axis in 0..3 {
        let (groups, most) = (kernel.launch.groups[axis], limits.groups[axis]);
        if groups == 0 || groups > most {
            findings.declared(place(), Rule::Groups { axis, groups, most });
        }
    }
    let bytes = kernel.shared_bytes();
    if bytes > limits.shared_bytes {
        findings.declared(place(), Rule::SharedBytes { bytes, most: limits.shared_bytes });
    }
    let count = kernel.params.len();
    if count > limits.parameters {
        findings.declared(place(), Rule::Parameters { count, most: limits.parameters });
    }
}

fn names(kernel: &Kernel, findings: &mut Findings<'_>) {
    let params = kernel.params.iter().map(|p| match p {
        Param::Buffer(b) => &kernel.buffers[*b].name,
        Param::Argument(a) => &kernel.arguments[*a].name,
    });
    let memory: Vec<&String> = params.chain(kernel.shared.iter().map(|(_, s)| &s.name)).collect();
    let mut seen = BTreeSet::new();
    for name in memory {
        if !seen.insert(name) {
            findings.declared(format!("kernel {}", kernel.name), Rule::DuplicateName { name: name.clone() });
        }
        is_name(name, findings);
    }
    is_name(&kernel.name, findings);
}

fn is_name(name: &str, findings: &mut Findings<'_>) {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = name.chars().next().is_some_and(|c| !c.is_ascii_digit());
    if !starts || !name.chars().all(letter) {
        findings.declared("declarations", Rule::Name { name: name.to_owned() });
    }
}

fn storage(name: &str, scalar: Scalar, findings: &mut Findings<'_>) {
    if scalar == Scalar::Bool {
        findings.declared(name, Rule::Storage { scalar });
    }
}

fn check_view(kernel: &Kernel, view: &View, limits: &Limits, findings: &mut Findings<'_>) {
    let place = format!("view {}", view.name);
    let (memory, name) = match view.space {
        Space::Device(b) => (kernel.buffers[b].element, &kernel.buffers[b].name),
        Space::Shared(s) => (kernel.shared[s].element, &kernel.shared[s].name),
    };
    if memory != view.element {
        let rule = Rule::ElementType { view: view.element, memory, name: name.clone() };
        findings.declared(&place, rule);
    }
    let reach = view.reach();
    match view.space {
        Space::Shared(s) if reach > u64::from(kernel.shared[s].elements) => {
            let elements = u64::from(kernel.shared[s].elements);
            findings.declared(&place, Rule::ViewBeyondMemory { reach, elements });
        }
        Space::Device(_) if reach > limits.elements => {
            findings.declared(&place, Rule::ViewTooFar { reach, most: limits.elements });
        }
        Space::Device(_) | Space::Shared(_) => {}
    }
    if view.access.writes() && !view.is_injective() {
        let shape = view.shape.iter().map(|e| e.size).collect();
        findings.declared(&place, Rule::Overlapping { strides: view.strides.clone(), shape });
    }
}
