//! Step 3: threads of a launch do not meet in device memory.
//!
//! Nothing orders device memory within a launch, so every touch of a buffer that is written is compared with every
//! other, for threads of the same threadgroup and of different ones.

use crate::ir::{Builtin, Kernel, Origin, Space, ValueId};

use super::Findings;
use super::analysis::{Analysis, Form, Span, Symbol};
use super::facts::Facts;
use super::overlap::{Pair, Seen, Sight, can_meet};
use super::rule::Rule;
use super::shared::loops_of;
use super::touch::{Touch, touches};

pub(super) fn check(kernel: &Kernel, analysis: &Analysis, facts: &Facts, findings: &mut Findings<'_>) {
    let mut all: Vec<Touch> = Vec::new();
    kernel.walk(|id, _| {
        let of_device = |t: &Touch| match t.space() {
            Space::Device(buffer) => kernel.buffers[buffer].access.writes(),
            Space::Shared(_) => false,
        };
        all.extend(touches(kernel, analysis, facts, id).into_iter().filter(of_device));
    });
    let sight = DeviceSight { kernel, analysis };
    for (n, later) in all.iter().enumerate() {
        for earlier in &all[..=n] {
            let concerns = earlier.space() == later.space() && (earlier.write || later.write);
            if concerns && pairs(kernel, earlier, later).any(|pair| can_meet(earlier, later, pair, &sight)) {
                let Space::Device(buffer) = later.space() else { continue };
                let other = if earlier.write { "write" } else { "read" };
                let place = findings.describe(earlier.op);
                let name = kernel.buffers[buffer].name.clone();
                findings.at(later.op, Rule::DeviceRace { name, other, place });
            }
        }
    }
}

fn pairs(kernel: &Kernel, a: &Touch, b: &Touch) -> impl Iterator<Item = Pair> {
    let itself = a.op == b.op && a.collective;
    let inside =
        [Pair::SameSimd, Pair::OtherSimd].into_iter().filter(move |p| !itself || *p != Pair::SameSimd);
    let axes: Vec<u8> = (0..3).filter(|&axis| kernel.launch.groups[usize::from(axis)] > 1).collect();
    let outside =
        axes.into_iter().flat_map(|axis| [false, true].map(|ahead| Pair::OtherGroup { axis, ahead }));
    inside.chain(outside)
}

struct DeviceSight<'a> {
    kernel: &'a Kernel,
    analysis: &'a Analysis,
}

impl Sight for DeviceSight<'_> {
    fn seen(&self, symbol: Symbol, pair: Pair) -> Seen {
        let varies = self.analysis.symbol_varies(self.kernel, symbol);
        let group_axis = match symbol {
            Symbol::Value(value) => match self.kernel.defs[value].origin {
                Origin::Builtin(Builtin::Group(axis)) => Some(axis),
                _ => None,
            },
            Symbol::Counter(_) => None,
        };
        if let Pair::OtherGroup { axis, ahead } = pair {
            if group_axis == Some(axis) {
                let most = i64::from(self.kernel.launch.groups[usize::from(axis)]) - 1;
                return Seen::Apart(if ahead { Span::between(1, most) } else { Span::between(-most, -1) });
            }
            if varies.group {
                return Seen::Independent;
            }
        }
        if varies.lane || varies.simd && pair != Pair::SameSimd {
            return Seen::Independent;
        }
        match loops_of(self.kernel, self.analysis, symbol).is_empty() {
            true => Seen::Alike,
            false => Seen::Independent,
        }
    }

    fn span(&self, symbol: Symbol) -> Span {
        self.analysis.symbol_span(symbol)
    }

    fn form(&self, value: ValueId) -> Option<Form> {
        self.analysis.integer(value).map(|i| i.form.clone())
    }
}
