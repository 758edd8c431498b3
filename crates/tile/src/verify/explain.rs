//! Why a kernel was accepted, for people.

use std::fmt::Write;

use crate::ir::{Extent, Kernel, Names, OpId, OpKind, Place, Scope, describe};

use super::analysis::{Analysis, Varies};
use super::{AxisGuard, Facts, Verified, access};

/// The reasoning, operation by operation: where each coordinate can be and whether it is compared, who reaches each
/// barrier and collective, how often each loop runs. Operations that need no reason are left out.
pub fn explain(kernel: &Verified) -> String {
    let analysis = Analysis::new(kernel);
    let mut page =
        Page { kernel, facts: kernel.facts(), names: Names::new(kernel), analysis, text: String::new() };
    let launch = kernel.launch();
    let [x, y, z] = launch.groups;
    let _ = writeln!(
        page.text,
        "kernel {}, {x}x{y}x{z} threadgroups of {} threads",
        kernel.name(),
        launch.threads
    );
    kernel.walk(|id, depth| page.operation(id, depth));
    page.text
}

struct Page<'a> {
    kernel: &'a Kernel,
    facts: &'a Facts,
    names: Names,
    analysis: Analysis,
    text: String,
}

impl Page<'_> {
    fn operation(&mut self, id: OpId, depth: usize) {
        let kind = &self.kernel.ops[id].kind;
        let reasons = match kind {
            OpKind::Load(place)
            | OpKind::Store(place, _)
            | OpKind::MatrixLoad { from: place, .. }
            | OpKind::MatrixStore { to: place, .. } => self.access(id, place),
            OpKind::Barrier(Scope::Group) => {
                vec![format!("all threads come here: control {}", self.control(id))]
            }
            OpKind::TileMultiply { .. } | OpKind::TileStore { .. } => {
                vec![format!("all threads come here: control {}", self.control(id))]
            }
            OpKind::Barrier(Scope::Launch) => {
                vec!["launches before this one have ended; nothing they write is touched above".to_owned()]
            }
            OpKind::Barrier(Scope::Simd)
            | OpKind::Shuffle(..)
            | OpKind::SimdReduce(..)
            | OpKind::MatrixMultiply(..) => {
                vec![format!("all lanes of a SIMD group come here: control {}", self.control(id))]
            }
            OpKind::Loop(l) => {
                let bound =
                    |value| self.analysis.integer(value).map_or(String::new(), |i| i.span.to_string());
                let (start, end) = (bound(l.start), bound(l.end));
                vec![format!("the index starts at {start} and stays below {end}")]
            }
            OpKind::When(condition, _) => {
                vec![format!("the condition {}", varies(self.analysis.varies(*condition)))]
            }
            _ => return,
        };
        let indent = "  ".repeat(depth + 1);
        let _ = writeln!(self.text, "{indent}{}", describe(self.kernel, &self.names, id));
        for reason in reasons {
            let _ = writeln!(self.text, "{indent}    {reason}");
        }
    }

    fn control(&self, id: OpId) -> &'static str {
        varies(self.analysis.context(id).control)
    }

    /// A line for each coordinate.
    fn access(&self, id: OpId, place: &Place) -> Vec<String> {
        let kernel = self.kernel;
        let view = &kernel.views[place.view];
        let rank = place.index.len();
        let width = |axis: usize| match &kernel.ops[id].kind {
            OpKind::Load(_) if axis + 1 == rank => kernel.ty(kernel.ops[id].results[0]).elements(),
            OpKind::Store(_, value) if axis + 1 == rank => kernel.ty(*value).elements(),
            OpKind::MatrixLoad { .. } | OpKind::MatrixStore { .. } if axis + 2 >= rank => 8,
            _ => 1,
        };
        let line = |(axis, &value): (usize, &_)| {
            let known = access::known(kernel, &self.analysis, id, place, value);
            let guard = self.facts.guards(id).get(axis).copied().unwrap_or_default();
            let wide = match width(axis) {
                1 => String::new(),
                n => format!(", {n} elements"),
            };
            let (name, extent) = (self.names.of(value), &view.shape[axis]);
            format!("{name} is {}{wide}, of {}: {}", known.span, self.length(extent), verdict(guard))
        };
        place.index.iter().enumerate().map(line).collect()
    }

    fn length(&self, extent: &Extent) -> String {
        match extent.limit {
            None => extent.size.to_string(),
            Some(limit) => format!("{}, at most {}", self.names.of(limit), extent.size),
        }
    }
}

const fn verdict(guard: AxisGuard) -> &'static str {
    match (guard.low, guard.high) {
        (false, false) => "inside",
        (true, false) => "compared with 0",
        (false, true) => "compared with the end",
        (true, true) => "compared with 0 and the end",
    }
}

const fn varies(varies: Varies) -> &'static str {
    match (varies.lane, varies.simd, varies.group) {
        (true, _, _) => "differs between lanes",
        (false, true, _) => "differs between SIMD groups",
        (false, false, true) => "differs between threadgroups",
        (false, false, false) => "is the same everywhere",
    }
}
