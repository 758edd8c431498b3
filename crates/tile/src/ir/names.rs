//! Names of values in printed IR, in messages and in emitted text.

use std::collections::BTreeMap;

use super::kernel::{Kernel, Origin, ValueId};
use super::op::OpKind;

/// A name for each value: constants by their literal, builtins and arguments by name, everything else by its
/// position in the program, so that equal programs print equally whatever order built them.
#[derive(Clone, Debug)]
pub struct Names {
    names: BTreeMap<ValueId, String>,
}

impl Names {
    /// Numbers the values of `kernel` in program order.
    pub fn new(kernel: &Kernel) -> Self {
        let mut names = BTreeMap::new();
        for (id, def) in kernel.defs.iter() {
            match def.origin {
                Origin::Literal(literal) => drop(names.insert(id, literal.to_string())),
                Origin::Builtin(builtin) => drop(names.insert(id, builtin.name().to_owned())),
                Origin::Argument(argument) => {
                    drop(names.insert(id, kernel.arguments[argument].name.clone()));
                }
                Origin::Result(..) | Origin::Index(_) | Origin::Carried(..) => {}
            }
        }
        let mut next = 0;
        let mut number = |id: ValueId| {
            let label = kernel.defs[id].name.as_deref().unwrap_or("");
            let dot = if label.is_empty() { "" } else { "." };
            names.insert(id, format!("%{next}{dot}{label}"));
            next += 1;
        };
        kernel.walk(|op, _| {
            let op = &kernel.ops[op];
            op.results.iter().for_each(|&r| number(r));
            if let OpKind::Loop(l) = &op.kind {
                number(l.index);
                l.carried.iter().for_each(|&c| number(c));
            }
        });
        Self { names }
    }

    /// The name, or `%?` for a value that no operation defines.
    pub fn of(&self, value: ValueId) -> &str {
        self.names.get(&value).map_or("%?", String::as_str)
    }

    /// Several names, separated by commas.
    pub fn list(&self, values: &[ValueId]) -> String {
        values.iter().map(|&v| self.of(v)).collect::<Vec<_>>().join(", ")
    }
}
