//! Names in emitted text.

use std::collections::{BTreeMap, BTreeSet};

use crate::arena::Handle;
use crate::ir::{Builtin, Kernel, Names, OpKind, Origin, Param, Shared, ValueId};
use crate::types::Type;
use crate::verify::filled;

/// Words of the two languages, and names the emitters use themselves, that a kernel may want as a name.
const RESERVED: &str = "\
    abs alignas asm auto bfloat blockDim blockIdx bool break case char class const constant continue \
    cos default delete device do double e else enum exp exp2 explicit extern false fast float floor \
    fma fmax fmin for fragment_column fragment_row friend goto gridDim group_position group_x \
    group_y group_z half if inline int kernel lane lane_index log long max metal min namespace new \
    operator precise private public register return rsqrt short signed simd_group simd_group_index \
    sin sizeof sqrt static struct switch tanh template this thread threadIdx thread_index \
    thread_position threadgroup tile_factor tile_left tile_product tile_result tile_right tile_store tile_sums \
    tile_to true typedef typename uchar uint union unsigned using void volatile \
    while";

/// A name for everything that appears in the text.
pub(super) struct Idents {
    values: BTreeMap<ValueId, String>,
    params: Vec<String>,
    shared: Vec<String>,
    /// The function's name.
    pub(super) function: String,
}

impl Idents {
    pub(super) fn new(kernel: &Kernel) -> Self {
        let mut taken: BTreeSet<String> = RESERVED.split_whitespace().map(str::to_owned).collect();
        let mut claim = |name: &str| {
            let mut name = name.to_owned();
            while !taken.insert(name.clone()) {
                name.push('_');
            }
            name
        };
        let function = claim(&kernel.name);
        let params: Vec<String> = kernel
            .params
            .iter()
            .map(|param| match param {
                Param::Buffer(b) => claim(&kernel.buffers[*b].name),
                Param::Argument(a) => claim(&kernel.arguments[*a].name),
            })
            .collect();
        let shared = kernel.shared.iter().map(|(_, s)| claim(&s.name)).collect();

        let names = Names::new(kernel);
        let mut values = BTreeMap::new();
        for (id, def) in kernel.defs.iter() {
            let name = match def.origin {
                Origin::Literal(_) => continue,
                Origin::Builtin(builtin) => builtin_name(builtin).to_owned(),
                Origin::Argument(argument) => {
                    let position = kernel.params.iter().position(|p| *p == Param::Argument(argument));
                    params[position.unwrap_or(0)].clone()
                }
                Origin::Result(..) | Origin::Index(_) | Origin::Carried(..) => claim(&spell(names.of(id))),
            };
            values.insert(id, name);
        }
        // After a loop its results are in the variables it carried.
        for (_, op) in kernel.ops.iter() {
            if let OpKind::Loop(l) = &op.kind {
                for (&result, &carried) in op.results.iter().zip(&l.carried) {
                    let name = values.get(&result).cloned().unwrap_or_default();
                    values.insert(carried, name);
                }
            }
        }
        // What takes a tile changes it where it is: one variable from its filling to its store.
        for (id, _) in kernel.defs.iter().filter(|(_, def)| def.ty == Type::Tile) {
            let name = values.get(&filled(kernel, id)).cloned().unwrap_or_default();
            values.insert(id, name);
        }
        Self { values, params, shared, function }
    }

    /// The name of a value that is not a constant.
    pub(super) fn value(&self, value: ValueId) -> &str {
        self.values.get(&value).map_or("", String::as_str)
    }

    /// The name of the n-th parameter.
    pub(super) fn param(&self, n: usize) -> &str {
        &self.params[n]
    }

    /// The name of a shared allocation.
    pub(super) fn shared(&self, shared: Handle<Shared>) -> &str {
        &self.shared[shared.index()]
    }
}

/// The variable that holds a thread's place in the launch.
pub(super) const fn builtin_name(builtin: Builtin) -> &'static str {
    match builtin {
        Builtin::Group(0) => "group_x",
        Builtin::Group(1) => "group_y",
        Builtin::Group(_) => "group_z",
        Builtin::Thread => "thread_index",
        Builtin::SimdGroup => "simd_group",
        Builtin::Lane => "lane",
    }
}

/// `%12` is `v12`, `%12.row` is `row_12`.
fn spell(name: &str) -> String {
    let name = name.trim_start_matches('%');
    match name.split_once('.') {
        None => format!("v{name}"),
        Some((number, label)) => {
            let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
            let label: String = label.chars().map(word).collect();
            let digit = label.starts_with(|c: char| c.is_ascii_digit());
            format!("{}{label}_{number}", if digit { "v" } else { "" })
        }
    }
}
