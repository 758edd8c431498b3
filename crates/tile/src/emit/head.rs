//! What the heads of both languages have in common.

use crate::ir::{Builtin, Origin};

use super::dialect::Dialect;
use super::writer::Writer;

impl<D: Dialect> Writer<'_, D> {
    /// Parameters, one a line, and the opening of the body.
    pub(super) fn parameters(&mut self, list: &[String]) {
        for (n, parameter) in list.iter().enumerate() {
            let end = if n + 1 == list.len() { "" } else { "," };
            self.line(format!("    {parameter}{end}"));
        }
        self.enter(")");
    }

    /// What of the thread's place the text mentions: what the kernel asks for, and what its printing needs.
    pub(super) fn places(&self, needed: &[Builtin]) -> Vec<Builtin> {
        let asked = self.kernel.defs().iter().filter_map(|(id, def)| match def.origin {
            Origin::Builtin(builtin) if self.said.value(id) => Some(builtin),
            _ => None,
        });
        let mut places: Vec<Builtin> = asked.chain(needed.iter().copied()).collect();
        places.sort_unstable();
        places.dedup();
        places
    }
}
