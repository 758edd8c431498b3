//! Step 2: operations take the types they are made for.

use crate::ir::{Arithmetic, Kernel, Math, OpId, OpKind, Place, ValueId};
use crate::types::{Scalar, Type, Width};

use super::Findings;
use super::rule::Rule;

const INDEX: Type = Type::Scalar(Scalar::I32);
const BOOL: Type = Type::Scalar(Scalar::Bool);

pub(super) fn check(kernel: &Kernel, id: OpId, findings: &mut Findings<'_>) {
    Checker { kernel, id, findings }.op();
}

struct Checker<'a, 'f, 'k> {
    kernel: &'a Kernel,
    id: OpId,
    findings: &'f mut Findings<'k>,
}

impl Checker<'_, '_, '_> {
    fn ty(&self, value: ValueId) -> Type {
        self.kernel.ty(value)
    }

    fn need(&mut self, holds: bool, what: &'static str, expected: impl Into<String>, got: Type) {
        if !holds {
            self.findings.at(self.id, Rule::Type { what, expected: expected.into(), got });
        }
    }

    fn same(&mut self, what: &'static str, value: ValueId, expected: Type) {
        let got = self.ty(value);
        self.need(got == expected, what, expected.to_string(), got);
    }

    fn count(&mut self, what: &'static str, got: usize, expected: usize) {
        if got != expected {
            self.findings.at(self.id, Rule::Count { what, expected, got });
        }
    }

    fn op(&mut self) {
        let op = &self.kernel.ops[self.id];
        let results: Vec<Type> = op.results.iter().map(|&r| self.ty(r)).collect();
        let expected = match &op.kind {
            OpKind::Store(..)
            | OpKind::MatrixStore { .. }
            | OpKind::TileStore { .. }
            | OpKind::Barrier(_)
            | OpKind::When(..) => 0,
            OpKind::Loop(l) => l.init.len(),
            _ => 1,
        };
        self.count("results", results.len(), expected);
        let result = results.first().copied().unwrap_or(BOOL);
        let got = |this: &mut Self, expected: Type| {
            this.need(result == expected, "the result", expected.to_string(), result);
        };
        self.tiles(&op.kind, &results);
        match &op.kind {
            OpKind::Math(math, a) => {
                let ty = self.ty(*a);
                got(self, ty);
                let fits = match math {
                    Math::Not => {
                        matches!(ty.scalar(), Scalar::Bool | Scalar::I32 | Scalar::U32) && !ty.is_matrix()
                    }
                    Math::Neg | Math::Abs => ty.scalar().has_arithmetic(),
                    _ => ty.scalar() == Scalar::F32,
                };
                self.need(fits, "the operand", "a type this function is made for", ty);
            }
            OpKind::Arithmetic(op, a, b) => {
                let ty = self.ty(*a);
                self.same("the right operand", *b, ty);
                got(self, ty);
                let integer = ty.scalar().is_word() && !ty.is_matrix();
                let fits = match op {
                    Arithmetic::Add | Arithmetic::Sub | Arithmetic::Mul | Arithmetic::Div => {
                        ty.scalar().has_arithmetic()
                    }
                    Arithmetic::Min | Arithmetic::Max => ty.scalar().has_arithmetic(),
                    Arithmetic::And | Arithmetic::Or | Arithmetic::Xor => integer || ty == BOOL,
                    Arithmetic::Rem | Arithmetic::Shl | Arithmetic::Shr => integer,
                };
                self.need(fits, "the operand", "a type this operation is made for", ty);
            }
            OpKind::Compare(_, a, b) => {
                let ty = self.ty(*a);
                self.same("the right operand", *b, ty);
                got(self, BOOL);
                let fits = matches!(ty, Type::Scalar(s) if s.has_arithmetic());
                self.need(fits, "the operand", "f32, i32 or u32", ty);
            }
            OpKind::Fma(a, b, c) => {
                let ty = self.ty(*a);
                self.same("the second factor", *b, ty);
                self.same("the summand", *c, ty);
                got(self, ty);
                self.need(ty.scalar() == Scalar::F32, "the operand", "f32", ty);
            }
            OpKind::Select(condition, a, b) => {
                let ty = self.ty(*a);
                self.same("the condition", *condition, BOOL);
                self.same("the other choice", *b, ty);
                got(self, ty);
            }
            OpKind::Cast(a) => {
                let ty = self.ty(*a);
                got(self, ty.with_scalar(result.scalar()));
                let fits = !ty.is_matrix() || (ty.scalar().is_float() && result.scalar().is_float());
                self.need(fits, "the result", "a float fragment", result);
            }
            OpKind::Bitcast(a) => {
                let ty = self.ty(*a);
                let fits = ty.bytes().is_some() && ty.bytes() == result.bytes();
                self.need(fits, "the result", format!("a type of the size of {ty}"), result);
            }
            OpKind::Splat(a) => {
                let ty = self.ty(*a);
                self.need(matches!(ty, Type::Scalar(_)), "the operand", "a scalar", ty);
                let fits = !matches!(result, Type::Scalar(_)) && result.scalar() == ty.scalar();
                self.need(fits, "the result", format!("a vector or fragment of {ty}"), result);
                let float = !result.is_matrix() || result.scalar().is_float();
                self.need(float, "the result", "a float fragment", result);
            }
            OpKind::Compose(parts) => {
                let width = match result {
                    Type::Vector(_, width) => width.count() as usize,
                    Type::Scalar(_) | Type::Matrix(_) | Type::Tile => 0,
                };
                self.count("parts", parts.len(), width);
                for &part in parts {
                    self.same("a part", part, Type::Scalar(result.scalar()));
                }
            }
            OpKind::Extract(a, n) => {
                let ty = self.ty(*a);
                let fits = matches!(ty, Type::Vector(_, width) if *n < width.count());
                self.need(fits, "the operand", format!("a vector of more than {n}"), ty);
                got(self, Type::Scalar(ty.scalar()));
            }
            OpKind::Dot4(a, b, c) => {
                let bytes = Type::Vector(Scalar::I8, Width::Four);
                self.same("the left operand", *a, bytes);
                self.same("the right operand", *b, bytes);
                self.same("the summand", *c, INDEX);
                got(self, INDEX);
            }
            OpKind::Shuffle(shuffle, a) => {
                let ty = self.ty(*a);
                got(self, ty);
                self.need(!ty.is_matrix(), "the operand", "a scalar or vector", ty);
                if let crate::ir::Shuffle::Lane(lane) = shuffle {
                    self.same("the lane", *lane, INDEX);
                }
            }
            OpKind::SimdReduce(_, a) => {
                let ty = self.ty(*a);
                got(self, ty);
                let fits = matches!(ty, Type::Scalar(s) if s.has_arithmetic());
                self.need(fits, "the operand", "f32, i32 or u32", ty);
            }
            OpKind::Load(place) => {
                self.place(place);
                let element = self.kernel.views[place.view].element;
                let fits = result.scalar() == element && !result.is_matrix();
                self.need(fits, "the result", format!("{element}, alone or in a vector"), result);
            }
            OpKind::Store(place, value) => {
                self.place(place);
                let (element, ty) = (self.kernel.views[place.view].element, self.ty(*value));
                let fits = ty.scalar() == element && !ty.is_matrix();
                self.need(fits, "the value", format!("{element}, alone or in a vector"), ty);
            }
            OpKind::MatrixLoad { from, .. } => {
                self.place(from);
                self.count("masks", from.mask.iter().len(), 0);
                let element = self.kernel.views[from.view].element;
                got(self, Type::Matrix(element));
                self.need(element.is_float(), "the element", "f32, f16 or bf16", result);
            }
            OpKind::MatrixStore { to, value, .. } => {
                self.place(to);
                self.count("masks", to.mask.iter().len(), 0);
                let element = self.kernel.views[to.view].element;
                self.same("the value", *value, Type::Matrix(element));
                self.need(element.is_float(), "the element", "f32, f16 or bf16", self.ty(*value));
            }
            OpKind::MatrixMultiply(a, b, c) => {
                let ty = self.ty(*a);
                let fits = ty.is_matrix() && ty.scalar().is_float();
                self.need(fits, "the left factor", "a float fragment", ty);
                self.same("the right factor", *b, ty);
                self.same("the accumulator", *c, Type::Matrix(Scalar::F32));
                got(self, Type::Matrix(Scalar::F32));
            }
            OpKind::TileMultiply { sum, .. } => {
                self.same("the sum", *sum, Type::Tile);
                got(self, Type::Tile);
            }
            OpKind::TileStore { value, .. } => self.same("the value", *value, Type::Tile),
            OpKind::Barrier(_) => {}
            OpKind::Loop(l) => {
                self.same("the start", l.start, INDEX);
                self.same("the end", l.end, INDEX);
                self.same("the index", l.index, INDEX);
                self.count("carried values", l.carried.len(), l.init.len());
                self.count("yielded values", l.yields.len(), l.init.len());
                for (n, &init) in l.init.iter().enumerate() {
                    let ty = self.ty(init);
                    for value in [l.carried.get(n), l.yields.get(n), op.results.get(n)].into_iter().flatten()
                    {
                        self.same("what a loop carries", *value, ty);
                    }
                }
            }
            OpKind::When(condition, _) => self.same("the condition", *condition, BOOL),
        }
    }

    /// Tiles are filled, carried, multiplied and stored; nothing else is made for them.
    fn tiles(&mut self, kind: &OpKind, results: &[Type]) {
        let takes = matches!(kind, OpKind::TileMultiply { .. } | OpKind::TileStore { .. } | OpKind::Loop(_));
        let operand = kind.operands().iter().any(|&value| self.ty(value) == Type::Tile);
        self.need(takes || !operand, "an operand", "no tile", Type::Tile);
        let gives = takes || matches!(kind, OpKind::Splat(_));
        self.need(gives || !results.contains(&Type::Tile), "the result", "no tile", Type::Tile);
    }

    fn place(&mut self, place: &Place) {
        let view = &self.kernel.views[place.view];
        self.count("coordinates", place.index.len(), view.shape.len());
        for &index in &place.index {
            self.same("a coordinate", index, INDEX);
        }
        if let Some(mask) = place.mask {
            self.same("the mask", mask, BOOL);
        }
        for limit in view.shape.iter().filter_map(|e| e.limit) {
            self.same("a limit", limit, INDEX);
        }
    }
}
