//! IR as text: deterministic, one operation a line, meant to be read.

use std::fmt::Write;

use crate::arena::Handle;

use super::kernel::{Kernel, Param};
use super::memory::{Space, View};
use super::names::Names;
use super::op::{Arithmetic, Comparison, Math, OpId, OpKind, Place, Reduction, Scope, Scratch, Shuffle};

/// The whole kernel.
pub fn print(kernel: &Kernel) -> String {
    let names = Names::new(kernel);
    let mut text = String::new();
    let [x, y, z] = kernel.launch.groups;
    let alone = if kernel.launch.alone { " alone" } else { "" };
    let threads = kernel.launch.threads;
    let _ = writeln!(text, "kernel {} groups {x}x{y}x{z} threads {threads}{alone}", kernel.name);
    for &param in &kernel.params {
        match param {
            Param::Buffer(b) => {
                let b = &kernel.buffers[b];
                let _ = writeln!(text, "  buffer {}: {}[{}] {}", b.name, b.element, b.elements, b.access);
            }
            Param::Argument(a) => {
                let a = &kernel.arguments[a];
                let _ = write!(text, "  scalar {}: {}", a.name, a.scalar);
                let range = if a.scalar.is_word() {
                    format!(" in {}..={}", a.range.0, a.range.1)
                } else {
                    String::new()
                };
                let _ = writeln!(text, "{range}");
            }
        }
    }
    for (_, s) in kernel.shared.iter() {
        let _ = writeln!(text, "  shared {}: {}[{}]", s.name, s.element, s.elements);
    }
    for (_, view) in kernel.views.iter() {
        let _ = writeln!(text, "  {}", declare(kernel, &names, view));
    }
    text.push('\n');
    let mut pending: Vec<(usize, String)> = Vec::new();
    let close = |text: &mut String, pending: &mut Vec<(usize, String)>, depth: usize| {
        while let Some((d, line)) = pending.pop_if(|(d, _)| *d >= depth) {
            put(text, d + 2, &line);
        }
    };
    kernel.walk(|id, depth| {
        close(&mut text, &mut pending, depth);
        put(&mut text, depth + 1, &describe(kernel, &names, id));
        if let OpKind::Loop(l) = &kernel.ops[id].kind
            && !l.yields.is_empty()
        {
            pending.push((depth, format!("yield {}", names.list(&l.yields))));
        }
    });
    close(&mut text, &mut pending, 0);
    text
}

/// Columns of a line, where a list can be broken.
const COLUMNS: usize = 100;

/// Writes a line; a long list goes on in lines that are set in further.
fn put(text: &mut String, depth: usize, line: &str) {
    let (first, further) = ("  ".repeat(depth), "  ".repeat(depth + 2));
    let mut column = first.len();
    text.push_str(&first);
    for (n, item) in line.split_inclusive(", ").enumerate() {
        if n > 0 && column + item.trim_end().len() > COLUMNS {
            text.truncate(text.trim_end().len());
            text.push('\n');
            text.push_str(&further);
            column = further.len();
        }
        text.push_str(item);
        column += item.len();
    }
    text.push('\n');
}

fn declare(kernel: &Kernel, names: &Names, view: &View) -> String {
    let place = match view.space {
        Space::Device(b) => &kernel.buffers[b].name,
        Space::Shared(s) => &kernel.shared[s].name,
    };
    let axis = |(e, guarded): (&super::memory::Extent, &bool)| {
        let limit = e.limit.map_or(String::new(), |l| format!("<={}", names.of(l)));
        format!("{}{limit}{}", e.size, if *guarded { "?" } else { "" })
    };
    let shape: Vec<String> = view.shape.iter().zip(&view.guarded).map(axis).collect();
    let sizes: Vec<u32> = view.shape.iter().map(|e| e.size).collect();
    let mut line =
        format!("view {}: {}[{}] {} of {place}", view.name, view.element, shape.join(", "), view.access);
    if view.offset != 0 {
        let _ = write!(line, " offset {}", view.offset);
    }
    if view.strides != View::row_major(&sizes) {
        let _ = write!(line, " strides {:?}", view.strides);
    }
    if view.guarded.contains(&true) {
        let _ = write!(line, " fill {}", view.fill);
    }
    line
}

/// One operation as it is printed, without its block.
pub fn describe(kernel: &Kernel, names: &Names, id: OpId) -> String {
    let op = &kernel.ops[id];
    let n = |v| names.of(v);
    let text = match &op.kind {
        OpKind::Math(m, a) => format!("{} {}", math(*m), n(*a)),
        OpKind::Arithmetic(o, a, b) => format!("{} {}, {}", arithmetic(*o), n(*a), n(*b)),
        OpKind::Compare(o, a, b) => format!("{} {}, {}", comparison(*o), n(*a), n(*b)),
        OpKind::Fma(a, b, c) => format!("fma {}, {}, {}", n(*a), n(*b), n(*c)),
        OpKind::Select(c, a, b) => format!("select {}, {}, {}", n(*c), n(*a), n(*b)),
        OpKind::Cast(a) => format!("cast {}", n(*a)),
        OpKind::Bitcast(a) => format!("bitcast {}", n(*a)),
        OpKind::Splat(a) => format!("splat {}", n(*a)),
        OpKind::Compose(parts) => format!("vector {}", names.list(parts)),
        OpKind::Extract(a, i) => format!("extract {}, {i}", n(*a)),
        OpKind::Dot4(a, b, c) => format!("dot4 {}, {}, {}", n(*a), n(*b), n(*c)),
        OpKind::Shuffle(Shuffle::Xor(bits), a) => format!("shuffle_xor {}, {bits}", n(*a)),
        OpKind::Shuffle(Shuffle::Down(by), a) => format!("shuffle_down {}, {by}", n(*a)),
        OpKind::Shuffle(Shuffle::Lane(l), a) => format!("shuffle {}, {}", n(*a), n(*l)),
        OpKind::SimdReduce(r, a) => format!("simd_{} {}", reduction(*r), n(*a)),
        OpKind::Load(place) => format!("load {}", at(kernel, names, place)),
        OpKind::Store(place, v) => format!("store {} = {}", at(kernel, names, place), n(*v)),
        OpKind::MatrixLoad { from, transposed, scratch } => {
            let how = if *transposed { "matrix_load_transposed" } else { "matrix_load" };
            format!("{how} {}{}", at(kernel, names, from), through(kernel, scratch))
        }
        OpKind::MatrixStore { to, value, scratch } => {
            format!("matrix_store {} = {}{}", at(kernel, names, to), n(*value), through(kernel, scratch))
        }
        OpKind::MatrixMultiply(a, b, c) => format!("matrix_multiply {}, {}, {}", n(*a), n(*b), n(*c)),
        OpKind::TileMultiply { left, right, transposed, sum } => {
            let how = if *transposed { "tile_multiply_transposed" } else { "tile_multiply" };
            let name = |view: Handle<View>| &kernel.views[view].name;
            format!("{how} {}, {}, {}", name(*left), name(*right), n(*sum))
        }
        OpKind::TileStore { to, value } => {
            format!("tile_store {} = {}", kernel.views[*to].name, n(*value))
        }
        OpKind::Barrier(Scope::Group) => "barrier".to_owned(),
        OpKind::Barrier(Scope::Launch) => "launch_barrier".to_owned(),
        OpKind::Barrier(Scope::Simd) => "simd_barrier".to_owned(),
        OpKind::Loop(l) => {
            let kind = if l.whole { "loop whole" } else { "loop" };
            let mut text = format!("{kind} {} = {}..{} step {}", n(l.index), n(l.start), n(l.end), l.step);
            for (c, i) in l.carried.iter().zip(&l.init) {
                let _ = write!(text, ", {} = {}", n(*c), n(*i));
            }
            text.push(':');
            text
        }
        OpKind::When(c, _) => format!("when {}:", n(*c)),
    };
    match op.results.as_slice() {
        [] => text,
        [one] if !matches!(op.kind, OpKind::Loop(_)) => {
            format!("{}: {} = {text}", n(*one), kernel.ty(*one))
        }
        many => format!("{} = {text}", names.list(many)),
    }
}

fn at(kernel: &Kernel, names: &Names, place: &Place) -> String {
    let mask = place.mask.map_or(String::new(), |m| format!(" if {}", names.of(m)));
    format!("{}[{}]{mask}", kernel.views[place.view].name, names.list(&place.index))
}

fn through(kernel: &Kernel, scratch: &Option<Scratch>) -> String {
    let name = |view: Handle<View>| &kernel.views[view].name;
    scratch.as_ref().map_or(String::new(), |s| format!(" through {}", name(s.view)))
}

pub(crate) const fn arithmetic(op: Arithmetic) -> &'static str {
    match op {
        Arithmetic::Add => "add",
        Arithmetic::Sub => "sub",
        Arithmetic::Mul => "mul",
        Arithmetic::Div => "div",
        Arithmetic::Rem => "rem",
        Arithmetic::Min => "min",
        Arithmetic::Max => "max",
        Arithmetic::And => "and",
        Arithmetic::Or => "or",
        Arithmetic::Xor => "xor",
        Arithmetic::Shl => "shl",
        Arithmetic::Shr => "shr",
    }
}

pub(crate) const fn comparison(op: Comparison) -> &'static str {
    match op {
        Comparison::Eq => "eq",
        Comparison::Ne => "ne",
        Comparison::Lt => "lt",
        Comparison::Le => "le",
        Comparison::Gt => "gt",
        Comparison::Ge => "ge",
    }
}

pub(crate) const fn math(op: Math) -> &'static str {
    match op {
        Math::Neg => "neg",
        Math::Not => "not",
        Math::Abs => "abs",
        Math::Floor => "floor",
        Math::Sqrt => "sqrt",
        Math::Rsqrt => "rsqrt",
        Math::Exp => "exp",
        Math::Exp2 => "exp2",
        Math::Log => "log",
        Math::Sin => "sin",
        Math::Cos => "cos",
        Math::Tanh => "tanh",
        Math::FastExp => "fast_exp",
        Math::FastExp2 => "fast_exp2",
        Math::FastSin => "fast_sin",
        Math::FastCos => "fast_cos",
    }
}

pub(crate) const fn reduction(op: Reduction) -> &'static str {
    match op {
        Reduction::Sum => "sum",
        Reduction::Max => "max",
        Reduction::Min => "min",
    }
}
