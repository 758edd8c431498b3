//! From operations to statements.

use std::fmt::Write;

use crate::ir::{Block, Kernel, Loop, OpId, OpKind, Origin, Place, Shuffle, ValueId};
use crate::types::{Scalar, Type};
use crate::verify::{Facts, Verified};

use super::dialect::Dialect;
use super::expression;
use super::idents::Idents;
use super::said::Said;

/// Prints one kernel.
pub(super) struct Writer<'a, D> {
    pub(super) kernel: &'a Kernel,
    pub(super) facts: &'a Facts,
    pub(super) said: Said<'a>,
    pub(super) idents: Idents,
    pub(super) dialect: &'a D,
    text: String,
    depth: usize,
}

/// The names of vector parts.
const PARTS: [&str; 4] = ["x", "y", "z", "w"];

pub(super) fn write<D: Dialect>(kernel: &Verified, dialect: &D) -> String {
    let (facts, kernel) = (kernel.facts(), &**kernel);
    let (said, idents) = (Said::new(kernel, facts), Idents::new(kernel));
    let mut writer = Writer { kernel, facts, said, idents, dialect, text: String::new(), depth: 0 };
    dialect.open(&mut writer);
    writer.block(&kernel.body);
    writer.close();
    writer.text
}

impl<D: Dialect> Writer<'_, D> {
    /// One line.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        let depth = if line.is_empty() { 0 } else { self.depth };
        let _ = writeln!(self.text, "{}{line}", "    ".repeat(depth));
    }

    /// A line that opens a block.
    pub(super) fn enter(&mut self, line: impl AsRef<str>) {
        self.line(format!("{} {{", line.as_ref()));
        self.depth += 1;
    }

    /// Opens a block of its own.
    pub(super) fn scope(&mut self) {
        self.line("{");
        self.depth += 1;
    }

    /// Ends a block.
    pub(super) fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    /// Ends a block and opens its alternative.
    pub(super) fn otherwise(&mut self) {
        self.depth -= 1;
        self.line("} else {");
        self.depth += 1;
    }

    /// A value in an expression.
    pub(super) fn value(&self, value: ValueId) -> String {
        let value = self.said.stands_for(value);
        match self.said.constant(value) {
            Some(literal) => self.dialect.literal(literal),
            None => match self.part(value) {
                Some((vector, part)) => format!("{}.{part}", self.value(vector)),
                None => self.idents.value(value).to_owned(),
            },
        }
    }

    /// A value that is a part of a vector is written as such wherever it is used.
    fn part(&self, value: ValueId) -> Option<(ValueId, &'static str)> {
        let Origin::Result(op, _) = self.kernel.defs[value].origin else { return None };
        match self.kernel.ops[op].kind {
            OpKind::Extract(vector, n) => Some((vector, PARTS[n as usize % 4])),
            _ => None,
        }
    }

    /// Defines a scalar or vector.
    pub(super) fn define(&mut self, result: ValueId, expression: &str) {
        let ty = self.dialect.ty(self.kernel.ty(result));
        let name = self.idents.value(result).to_owned();
        self.line(format!("const {ty} {name} = {expression};"));
    }

    fn block(&mut self, block: &Block) {
        for &id in block {
            if self.said.op(id) {
                self.op(id);
            }
        }
    }

    /// Defines `result` by an expression of the operands' elements.
    fn each(&mut self, result: ValueId, operands: &[ValueId], element: &dyn Fn(&[String]) -> String) {
        let ty = self.kernel.ty(result);
        match ty {
            Type::Matrix(_) => self.dialect.matrix_each(self, result, operands, element),
            // Nothing is computed of tiles element by element.
            Type::Tile => {}
            Type::Scalar(_) => {
                let operands: Vec<String> = operands.iter().map(|&v| self.value(v)).collect();
                self.define(result, &element(&operands));
            }
            Type::Vector(_, width) => {
                let part = |n: usize| {
                    let of = |&v: &ValueId| match self.kernel.ty(v) {
                        Type::Vector(..) => format!("{}.{}", self.value(v), PARTS[n]),
                        Type::Scalar(_) | Type::Matrix(_) | Type::Tile => self.value(v),
                    };
                    element(&operands.iter().map(of).collect::<Vec<String>>())
                };
                let parts: Vec<String> = (0..width.count() as usize).map(part).collect();
                self.define(result, &self.dialect.compose(ty, &parts));
            }
        }
    }

    /// The same, where the language may take vectors as they are.
    fn whole(&mut self, result: ValueId, operands: &[ValueId], element: &dyn Fn(&[String]) -> String) {
        if matches!(self.kernel.ty(result), Type::Vector(..)) && self.dialect.vectors_are_native() {
            let operands: Vec<String> = operands.iter().map(|&v| self.value(v)).collect();
            self.define(result, &element(&operands));
        } else {
            self.each(result, operands, element);
        }
    }

    fn op(&mut self, id: OpId) {
        let kernel = self.kernel;
        let op = &kernel.ops[id];
        let dialect = self.dialect;
        let scalar = |v: ValueId| kernel.ty(v).scalar();
        match (&op.kind, op.results.as_slice()) {
            (OpKind::Math(math, a), &[result]) => {
                let wraps = self.facts.may_wrap(result);
                let element = |v: &[String]| expression::math(dialect, *math, scalar(*a), wraps, &v[0]);
                self.whole(result, &[*a], &element);
            }
            (OpKind::Arithmetic(arithmetic, a, b), &[result]) => {
                let wraps = self.facts.may_wrap(result);
                let element = |v: &[String]| {
                    expression::arithmetic(dialect, *arithmetic, scalar(*a), wraps, &v[0], &v[1])
                };
                match wraps && scalar(*a) == Scalar::I32 {
                    true => self.each(result, &[*a, *b], &element),
                    false => self.whole(result, &[*a, *b], &element),
                }
            }
            (OpKind::Compare(comparison, a, b), &[result]) => {
                self.each(result, &[*a, *b], &|v| expression::compare(*comparison, &v[0], &v[1]));
            }
            (OpKind::Fma(a, b, c), &[result]) => {
                self.whole(result, &[*a, *b, *c], &|v| dialect.fma(&v[0], &v[1], &v[2]));
            }
            (OpKind::Select(condition, a, b), &[result]) => {
                let condition = self.value(*condition);
                let element = |v: &[String]| format!("{condition} ? {} : {}", v[0], v[1]);
                match kernel.ty(result) {
                    Type::Matrix(_) => self.each(result, &[*a, *b], &element),
                    Type::Scalar(_) | Type::Vector(..) | Type::Tile => {
                        let choice = element(&[self.value(*a), self.value(*b)]);
                        self.define(result, &choice);
                    }
                }
            }
            (OpKind::Cast(a), &[result]) => {
                let (from, to) = (scalar(*a), scalar(result));
                let ty = kernel.ty(result);
                let vector = matches!(ty, Type::Vector(..));
                match dialect.cast_vector(from, ty, &self.value(*a)).filter(|_| vector) {
                    Some(text) => self.define(result, &text),
                    None => self.each(result, &[*a], &|v| dialect.cast(from, to, &v[0])),
                }
            }
            (OpKind::Bitcast(a), &[result]) => {
                let text = dialect.bitcast(kernel.ty(*a), kernel.ty(result), &self.value(*a));
                self.define(result, &text);
            }
            (OpKind::Splat(a), &[result]) => {
                let value = self.value(*a);
                match kernel.ty(result) {
                    Type::Matrix(_) => dialect.matrix_splat(self, result, &value),
                    Type::Tile => dialect.tile_splat(self, result, &value),
                    ty => self.define(result, &dialect.splat(ty, &value)),
                }
            }
            (OpKind::Compose(parts), &[result]) => {
                let parts: Vec<String> = parts.iter().map(|&p| self.value(p)).collect();
                self.define(result, &dialect.compose(kernel.ty(result), &parts));
            }
            (OpKind::Extract(..), _) => {}
            (OpKind::Dot4(a, b, c), &[result]) => {
                let text = dialect.dot4(&self.value(*a), &self.value(*b), &self.value(*c));
                self.define(result, &text);
            }
            (OpKind::Shuffle(shuffle, a), &[result]) => {
                let lane = match shuffle {
                    Shuffle::Lane(lane) => self.value(*lane),
                    Shuffle::Xor(_) | Shuffle::Down(_) => "lane".to_owned(),
                };
                let ty = Type::Scalar(scalar(*a));
                self.each(result, &[*a], &|v| dialect.shuffle(shuffle, ty, &v[0], &lane));
            }
            (OpKind::SimdReduce(reduction, a), &[result]) => {
                let text = dialect.reduce(*reduction, scalar(*a), &self.value(*a));
                self.define(result, &text);
            }
            (OpKind::Load(place), &[result]) => self.load(id, place, result),
            (OpKind::Store(place, value), _) => self.store(id, place, *value),
            (OpKind::MatrixLoad { from, transposed, .. }, &[result]) => {
                dialect.matrix_load(self, id, result, from, *transposed);
            }
            (OpKind::MatrixStore { to, value, .. }, _) => dialect.matrix_store(self, id, to, *value),
            (OpKind::MatrixMultiply(a, b, c), &[result]) => {
                dialect.matrix_multiply(self, result, [*a, *b], *c)
            }
            (OpKind::TileMultiply { left, right, transposed, .. }, &[result]) => {
                dialect.tile_multiply(self, result, [*left, *right], *transposed);
            }
            (OpKind::TileStore { to, value }, _) => dialect.tile_store(self, *to, *value),
            (OpKind::Barrier(scope), _) => match dialect.barrier(*scope) {
                "" => {}
                barrier => self.line(barrier),
            },
            (OpKind::Loop(l), _) => self.repeat(l),
            (OpKind::When(condition, body), _) => {
                let settled = self.said.constant(*condition).is_some();
                if !settled {
                    self.enter(format!("if ({})", self.value(*condition)));
                }
                self.block(body);
                if !settled {
                    self.close();
                }
            }
            // The verifier has counted results.
            (_, _) => {}
        }
    }

    fn repeat(&mut self, l: &Loop) {
        let is_tile = |value: ValueId| self.kernel.ty(value) == Type::Tile;
        let begins: Vec<(ValueId, ValueId)> =
            l.carried.iter().copied().zip(l.init.iter().copied()).filter(|(c, _)| !is_tile(*c)).collect();
        for (carried, init) in begins {
            let ty = self.dialect.ty(self.kernel.ty(carried));
            let line = format!("{ty} {} = {};", self.value(carried), self.value(init));
            self.line(line);
        }
        let (index, end) = (self.value(l.index), self.value(l.end));
        let more =
            if l.whole { format!("{index} <= {end} - {}", l.step) } else { format!("{index} < {end}") };
        self.enter(format!("for (int {index} = {}; {more}; {index} += {})", self.value(l.start), l.step));
        self.block(&l.body);
        let changed: Vec<(ValueId, ValueId)> = l
            .carried
            .iter()
            .copied()
            .zip(l.yields.iter().copied())
            .filter(|(c, y)| c != y && !is_tile(*c))
            .collect();
        // A variable that another one's next value is taken from must be read before it changes.
        let crosses = changed.iter().any(|(_, y)| l.carried.contains(y));
        for &(carried, yielded) in &changed {
            let (name, value) = (self.value(carried), self.value(yielded));
            let ty = self.dialect.ty(self.kernel.ty(carried));
            self.line(match crosses {
                true => format!("const {ty} next_{name} = {value};"),
                false => format!("{name} = {value};"),
            });
        }
        if crosses {
            for (carried, _) in changed {
                let name = self.value(carried);
                self.line(format!("{name} = next_{name};"));
            }
        }
        self.close();
    }

    fn load(&mut self, id: OpId, place: &Place, result: ValueId) {
        let view = &self.kernel.views[place.view];
        let coordinates = self.coordinates(place);
        let (memory, shared) = self.memory(view);
        let element = self.element(view, &coordinates);
        let ty = self.kernel.ty(result);
        let read = match ty {
            Type::Vector(..) => self.dialect.vector_at(shared, false, ty, &memory, &element),
            Type::Scalar(_) | Type::Matrix(_) | Type::Tile => format!("{memory}[{element}]"),
        };
        let text = match self.condition(id, place, &coordinates) {
            None => read,
            Some(condition) => {
                let fill = self.dialect.literal(view.fill);
                let fill = match ty {
                    Type::Vector(..) => self.dialect.splat(ty, &fill),
                    Type::Scalar(_) | Type::Matrix(_) | Type::Tile => fill,
                };
                format!("{condition} ? {read} : {fill}")
            }
        };
        self.define(result, &text);
    }

    fn store(&mut self, id: OpId, place: &Place, value: ValueId) {
        let view = &self.kernel.views[place.view];
        let coordinates = self.coordinates(place);
        let (memory, shared) = self.memory(view);
        let element = self.element(view, &coordinates);
        let ty = self.kernel.ty(value);
        let target = match ty {
            Type::Vector(..) => self.dialect.vector_at(shared, true, ty, &memory, &element),
            Type::Scalar(_) | Type::Matrix(_) | Type::Tile => format!("{memory}[{element}]"),
        };
        let store = format!("{target} = {};", self.value(value));
        let line = match self.condition(id, place, &coordinates) {
            None => store,
            Some(condition) => format!("if ({condition}) {store}"),
        };
        self.line(line);
    }
}
